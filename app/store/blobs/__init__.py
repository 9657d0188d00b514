"""Uploads and results by key, for all web servers and supervisors: the blob store.

    interface  the operations, and a blob in a listing
    folder     a folder of this machine, or of a file system that machines share
    remote     an object store or another file system that fsspec knows, such as S3

A key is the path of a file in the layout of the data folder, such as `uploads/ID.onnx`.
docs/machines.md lists the writers of each key.
"""
