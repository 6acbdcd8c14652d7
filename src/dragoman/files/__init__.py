"""People's files: listed, read, written and moved beneath a root, and nowhere else."""

from dragoman.files.directories import Directories, Directory
from dragoman.files.service import FileService

__all__ = ["Directories", "Directory", "FileService"]
