"""stub"""
import time
class Deadline:
    def __init__(self,t): self.t=t
    @classmethod
    def after(cls,s): return cls(time.monotonic()+s)
    @property
    def passed(self): return time.monotonic()>self.t
