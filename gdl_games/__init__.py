"""Game descriptions written for this project: data, see README.md."""
