"""The blob store that the settings name."""

from __future__ import annotations

from app.config import Settings
from app.store.blobs.folder import FolderBlobs
from app.store.blobs.interface import Blobs
from app.store.blobs.remote import RemoteBlobs


def blobs_of(settings: Settings) -> Blobs:
    """Return the blob store of an installation; nothing is opened before its first use."""
    if settings.has_folder:
        return FolderBlobs(settings.stored_folder)
    return RemoteBlobs(settings.blob_store, settings.stored_folder)
