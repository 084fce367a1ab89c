"""libiec61850 as client on a port of this machine: lists, fetches, sends, renames and deletes files; its own are in a directory."""
import sys
from pyiec61850 import pyiec61850 as mms

port, own = int(sys.argv[1]), sys.argv[2]
# About one in thirty of its calls it closes by itself when it was accepted, whatever it was sent.
for _ in range(10):
    connection = mms.IedConnection_create()
    error = mms.IedConnection_connect(connection, "127.0.0.1", port)
    if error in (0, (None, 0)):
        break
    mms.IedConnection_destroy(connection)
print("PEER connected", error, flush=True)


def code(done):
    return done[1] if isinstance(done, (tuple, list)) else done


for directory in ["/", "COMTRADE"]:
    entries, _ = mms.IedConnection_getFileDirectory(connection, directory)
    entry = mms.LinkedList_getNext(entries) if entries else None
    while entry:
        file = mms.toFileDirectoryEntry(mms.LinkedList_getData(entry))
        print("PEER entry", mms.FileDirectoryEntry_getFileName(file), mms.FileDirectoryEntry_getFileSize(file), flush=True)
        entry = mms.LinkedList_getNext(entry)
mms.IedConnection_setFilestoreBasepath(connection, own)
for name in ["large.bin", "empty.bin", "none.bin"]:
    print("PEER set", name, code(mms.IedConnection_setFile(connection, name, "from " + name)), flush=True)
below, error = mms.IedConnection_getMmsConnection(connection), mms.MmsError_create()
for name in ["large", "empty", "none"]:
    print("PEER download", name, mms.MmsConnection_downloadFile(below, error, name, own + "got " + name), flush=True)
mms.MmsConnection_fileRename(below, error, "from empty.bin", "renamed")
print("PEER delete none", code(mms.IedConnection_deleteFile(connection, "none")), flush=True)
print("PEER delete renamed", code(mms.IedConnection_deleteFile(connection, "renamed")), flush=True)
mms.IedConnection_close(connection)
# Its file tool ends so: the responder is to let go at once.
mms.IedConnection_destroy(connection)
connection = mms.IedConnection_create()
mms.IedConnection_connect(connection, "127.0.0.1", port)
mms.IedConnection_abort(connection)
print("PEER aborted", flush=True)
