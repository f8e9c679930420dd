"""One short file for each way in which an object deletes; `fits` says whether it is this one."""
