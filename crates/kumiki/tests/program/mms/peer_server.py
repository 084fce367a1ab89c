"""libiec61850 as server of the files below a directory on a port of this machine, until its standard input ends."""
import sys
from pyiec61850 import pyiec61850 as mms

model = mms.IedModel_create("kumiki")
device = mms.LogicalDevice_create("one", model)
node = mms.LogicalNode_create("LLN0", device)
server = mms.IedServer_create(model)
mms.IedServer_setLocalIpAddress(server, "127.0.0.1")
mms.IedServer_setFilestoreBasepath(server, sys.argv[2])
mms.IedServer_start(server, int(sys.argv[1]))
print("PEER runs", mms.IedServer_isRunning(server), flush=True)
sys.stdin.read()
