-- XTP where Wireshark and tshark do not look for it by themselves. They have a dissector of XTP 4.0 and find it by IP protocol 36
-- alone. This script adds EtherType 0x817d, so also SNAP behind LLC on IEEE 802.3 and FDDI, and reads the UDP datagrams of SimEther
-- as the Ethernet frames that they carry. How to load it, and what the dissector gets wrong: README.md beside this file.
--
-- SimEther has no port of its own. 7000 and 7002 are read unless the preference says otherwise:
-- -o 'sim_ether.ports:7000-7010'. The preference is a range as Wireshark writes ranges.

local xtp = DissectorTable.get("ip.proto"):get_dissector(36)
DissectorTable.get("ethertype"):add(0x817d, xtp)

local sim_ether = Proto("sim_ether", "SimEther: Ethernet frames in UDP")
local USUAL = "7000,7002"
sim_ether.prefs.ports = Pref.range("UDP ports", USUAL, "Ports whose datagrams are Ethernet frames", 65535)

local frame = Dissector.get("eth_withoutfcs")

function sim_ether.dissector(buffer, packet, tree)
    tree:add(sim_ether, buffer(0, 0)):append_text(", a frame of " .. buffer:len() .. " octets")
    frame:call(buffer, packet, tree)
end

local ports = DissectorTable.get("udp.port")
local known = USUAL
ports:add(known, sim_ether)

function sim_ether.prefs_changed()
    if sim_ether.prefs.ports ~= known then
        ports:remove(known, sim_ether)
        known = sim_ether.prefs.ports
        ports:add(known, sim_ether)
    end
end
