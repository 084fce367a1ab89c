"""libiec61850 as caller on a port of this machine: associates, asks who is there, and ends by `conclude` or `abort`."""
import sys
from pyiec61850 import pyiec61850 as mms

connection = mms.MmsConnection_create()
error = mms.MmsError_create()
stands = mms.MmsConnection_connect(connection, error, "127.0.0.1", int(sys.argv[1]))
print("PEER connected", stands, flush=True)
if stands:
    identity = mms.MmsConnection_identify(connection, error)
    said = identity and (identity.vendorName, identity.modelName, identity.revision)
    print("PEER identity", said, flush=True)
    {"conclude": mms.MmsConnection_conclude, "abort": mms.MmsConnection_abort}[sys.argv[2]](connection, error)
    print("PEER did", sys.argv[2], flush=True)
mms.MmsConnection_destroy(connection)
