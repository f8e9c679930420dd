"""One adapter for each way in which an object deletes; `fits` says whether it suits an object."""
