"""People's files: listed, read, written and moved beneath a root, and nowhere else."""

from dragoman.runtime.files.directories import Directories, Directory
from dragoman.runtime.files.service import Files

__all__ = ["Directories", "Directory", "Files"]
