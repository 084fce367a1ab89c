-- MAPOS for Wireshark and tshark: version 1 (RFC 2171) and MAPOS 16 (RFC 2175), with NSP (RFC 2173), SSP (RFC 2174), ARP and
-- IPv4 (RFC 2176) inside. How to load it: README.md beside this file.
--
-- A packet is a frame as it stands between its opening flag and its FCS. Captures of Kumiki have version 1 on link type 161
-- (User 14) and MAPOS 16 on 162 (User 15).
--
-- Left out: FCS, flags and stuffing; the number of the switch in an address, whose bits only the network knows.

local v1 = Proto("mapos", "MAPOS version 1")
local v16 = Proto("mapos16", "MAPOS 16")
local nsp = Proto("mapos_nsp", "MAPOS Node Switch Protocol")
local ssp = Proto("mapos_ssp", "MAPOS Switch Switch Protocol")
local arp = Proto("mapos_arp", "MAPOS Address Resolution Protocol")

local PROTOCOLS = {
    [0x0021] = "IPv4",
    [0xfe01] = "ARP",
    [0xfe03] = "NSP",
    [0xfe05] = "SSP",
}

-- Fields and remarks. Those of the frame are shared by both widths.

local frame_fields = {
    address = ProtoField.uint16("mapos.address", "Destination", base.HEX),
    control = ProtoField.uint8("mapos.control", "Control", base.HEX),
    protocol = ProtoField.uint16("mapos.protocol", "Protocol", base.HEX, PROTOCOLS),
}
local frame_remarks = {
    address = ProtoExpert.new("mapos.address.invalid", "Not an address", expert.group.PROTOCOL, expert.severity.ERROR),
    control = ProtoExpert.new("mapos.control.invalid", "Control is not 03", expert.group.PROTOCOL, expert.severity.ERROR),
    protocol = ProtoExpert.new("mapos.protocol.invalid", "Not a number by ISO 3309", expert.group.PROTOCOL, expert.severity.ERROR),
    short = ProtoExpert.new("mapos.short", "Octets are missing", expert.group.MALFORMED, expert.severity.ERROR),
}
v1.fields = frame_fields
v1.experts = frame_remarks

local NSP_COMMANDS = { [1] = "address request", [2] = "address assignment", [3] = "reject" }
local nsp_fields = {
    command = ProtoField.uint32("mapos_nsp.command", "Command", base.DEC, NSP_COMMANDS),
    address = ProtoField.uint32("mapos_nsp.address", "Address", base.HEX),
}
local nsp_remarks = {
    command = ProtoExpert.new("mapos_nsp.command.invalid", "No such command", expert.group.PROTOCOL, expert.severity.ERROR),
}
nsp.fields = nsp_fields
nsp.experts = nsp_remarks

local SSP_COMMANDS = { [1] = "request", [2] = "response" }
local ssp_fields = {
    command = ProtoField.uint8("mapos_ssp.command", "Command", base.DEC, SSP_COMMANDS),
    version = ProtoField.uint8("mapos_ssp.version", "Version", base.DEC),
    afi = ProtoField.uint16("mapos_ssp.afi", "Address family identifier", base.DEC),
    address = ProtoField.uint32("mapos_ssp.address", "HDLC address", base.HEX),
    mask = ProtoField.uint32("mapos_ssp.mask", "Subnet mask", base.HEX),
    metric = ProtoField.uint32("mapos_ssp.metric", "Metric", base.DEC),
}
local ssp_remarks = {
    command = ProtoExpert.new("mapos_ssp.command.invalid", "No such command", expert.group.PROTOCOL, expert.severity.ERROR),
    version = ProtoExpert.new("mapos_ssp.version.invalid", "Version is not 1", expert.group.PROTOCOL, expert.severity.ERROR),
    length = ProtoExpert.new("mapos_ssp.length.invalid", "Not 1 to 25 whole entries", expert.group.PROTOCOL, expert.severity.ERROR),
    metric = ProtoExpert.new("mapos_ssp.metric.invalid", "Metric is above 31", expert.group.PROTOCOL, expert.severity.ERROR),
}
ssp.fields = ssp_fields
ssp.experts = ssp_remarks

local ARP_OPERATIONS = { [1] = "request", [2] = "response", [23] = "UNARP" }
local arp_fields = {
    hardware = ProtoField.uint16("mapos_arp.hardware", "Hardware address space", base.DEC),
    protocol = ProtoField.uint16("mapos_arp.protocol", "Protocol address space", base.HEX),
    hardware_length = ProtoField.uint8("mapos_arp.hardware_length", "Hardware address length", base.DEC),
    protocol_length = ProtoField.uint8("mapos_arp.protocol_length", "Protocol address length", base.DEC),
    operation = ProtoField.uint16("mapos_arp.operation", "Operation code", base.DEC, ARP_OPERATIONS),
    sender = ProtoField.uint32("mapos_arp.sender", "Sender HDLC address", base.HEX),
    sender_ip = ProtoField.ipv4("mapos_arp.sender_ip", "Sender IP address"),
    target = ProtoField.uint32("mapos_arp.target", "Target HDLC address", base.HEX),
    target_ip = ProtoField.ipv4("mapos_arp.target_ip", "Target IP address"),
}
local arp_remarks = {
    form = ProtoExpert.new("mapos_arp.form.invalid", "Not about MAPOS (25) and IPv4 (0800) with addresses of 4 octets",
        expert.group.PROTOCOL, expert.severity.ERROR),
}
arp.fields = arp_fields
arp.experts = arp_remarks

-- Who reads the information of a frame, by its protocol number. Other scripts can add themselves.
local inside = DissectorTable.new("mapos.protocol", "MAPOS protocol", ftypes.UINT16, base.HEX, v1)

-- Who is meant by a value of this many octets; nil where it is no address. Without bit operators, which differ between versions of Lua.
local function meaning(value, octets)
    if value % 2 ~= 1 or (octets == 2 and math.floor(value / 0x100) % 2 ~= 0) then
        return nil
    end
    if value == (octets == 1 and 0xff or 0xfeff) then
        return "broadcast"
    end
    if value >= (octets == 1 and 0x80 or 0x8000) then
        return "group"
    end
    return value == 1 and "control processor of the local switch" or "node"
end

local function short(tvb, tree, need)
    if tvb:len() >= need then
        return false
    end
    tree:add_proto_expert_info(frame_remarks.short)
    return true
end

local function frame(proto, name, octets, tvb, pinfo, root)
    pinfo.cols.protocol = name
    local tree = root:add(proto, tvb(0, math.min(4, tvb:len())))
    if short(tvb, tree, 4) then
        return tvb:len()
    end
    local range = tvb(0, octets)
    local address = range:uint()
    local who = meaning(address, octets)
    local item = tree:add(frame_fields.address, range)
    if who then
        item:append_text(" (" .. who .. ")")
    else
        item:add_proto_expert_info(frame_remarks.address)
    end
    if octets == 1 then
        item = tree:add(frame_fields.control, tvb(1, 1))
        if tvb(1, 1):uint() ~= 0x03 then
            item:add_proto_expert_info(frame_remarks.control)
        end
    end
    item = tree:add(frame_fields.protocol, tvb(2, 2))
    if tvb(2, 1):uint() % 2 ~= 0 or tvb(3, 1):uint() % 2 ~= 1 then
        item:add_proto_expert_info(frame_remarks.protocol)
    end
    local text = string.format(octets == 1 and "to 0x%02x" or "to 0x%04x", address)
    tree:append_text(", " .. text)
    pinfo.cols.info = text
    if tvb:len() > 4 then
        -- A PDU that breaks off in there is shown as malformed by then; the error would only be shown once more, as this script's.
        pcall(inside.try, inside, tvb(2, 2):uint(), tvb(4):tvb(), pinfo, root)
    end
    return tvb:len()
end

function v1.dissector(tvb, pinfo, root)
    return frame(v1, "MAPOS", 1, tvb, pinfo, root)
end

function v16.dissector(tvb, pinfo, root)
    return frame(v16, "MAPOS 16", 2, tvb, pinfo, root)
end

function nsp.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "NSP"
    local tree = root:add(nsp, tvb(0, math.min(8, tvb:len())))
    if short(tvb, tree, 8) then
        return tvb:len()
    end
    local command = NSP_COMMANDS[tvb(0, 4):uint()]
    local item = tree:add(nsp_fields.command, tvb(0, 4))
    if not command then
        item:add_proto_expert_info(nsp_remarks.command)
    end
    tree:add(nsp_fields.address, tvb(4, 4))
    local text = command or "unknown command"
    if tvb(0, 4):uint() == 2 then
        text = text .. string.format(" 0x%02x", tvb(4, 4):uint())
    end
    tree:append_text(", " .. text)
    pinfo.cols.info = text
    return tvb:len()
end

function ssp.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "SSP"
    local tree = root:add(ssp, tvb())
    if short(tvb, tree, 4) then
        return tvb:len()
    end
    local command = SSP_COMMANDS[tvb(0, 1):uint()]
    local item = tree:add(ssp_fields.command, tvb(0, 1))
    if not command then
        item:add_proto_expert_info(ssp_remarks.command)
    end
    item = tree:add(ssp_fields.version, tvb(1, 1))
    local text = command or "unknown command"
    pinfo.cols.info = text
    if tvb(1, 1):uint() ~= 1 then
        item:add_proto_expert_info(ssp_remarks.version)
        return tvb:len()
    end
    local count = math.min(25, math.floor((tvb:len() - 4) / 20))
    if count < 1 or tvb:reported_len() ~= 4 + 20 * count then
        tree:add_proto_expert_info(ssp_remarks.length)
    end
    for number = 1, count do
        local entry = tvb(4 + 20 * (number - 1), 20)
        local metric = entry(16, 4):uint()
        local branch = tree:add(ssp, entry, "Entry " .. number)
        branch:add(ssp_fields.afi, entry(0, 2))
        branch:add(ssp_fields.address, entry(4, 4))
        branch:add(ssp_fields.mask, entry(8, 4))
        item = branch:add(ssp_fields.metric, entry(16, 4))
        if metric == 0 then
            item:append_text(" (the switch itself)")
        elseif metric == 16 then
            item:append_text(" (unreachable)")
        elseif metric > 31 then
            item:add_proto_expert_info(ssp_remarks.metric)
        elseif metric > 16 then
            item:append_text(" (poisoned reverse of " .. metric - 16 .. ")")
        end
    end
    text = text .. ", entries: " .. count
    tree:append_text(", " .. text)
    pinfo.cols.info = text
    return tvb:len()
end

function arp.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "MAPOS ARP"
    local tree = root:add(arp, tvb(0, math.min(24, tvb:len())))
    if short(tvb, tree, 24) then
        return tvb:len()
    end
    tree:add(arp_fields.hardware, tvb(0, 2))
    tree:add(arp_fields.protocol, tvb(2, 2))
    tree:add(arp_fields.hardware_length, tvb(4, 1))
    tree:add(arp_fields.protocol_length, tvb(5, 1))
    tree:add(arp_fields.operation, tvb(6, 2))
    if tvb(0, 4):uint() ~= 0x00190800 or tvb(4, 2):uint() ~= 0x0404 then
        tree:add_proto_expert_info(arp_remarks.form)
        return tvb:len()
    end
    tree:add(arp_fields.sender, tvb(8, 4))
    tree:add(arp_fields.sender_ip, tvb(12, 4))
    tree:add(arp_fields.target, tvb(16, 4))
    tree:add(arp_fields.target_ip, tvb(20, 4))
    local operation = ARP_OPERATIONS[tvb(6, 2):uint()] or "operation " .. tvb(6, 2):uint()
    local text = operation .. " " .. tostring(tvb(12, 4):ipv4()) .. " > " .. tostring(tvb(20, 4):ipv4())
    tree:append_text(", " .. text)
    pinfo.cols.info = text
    return tvb:len()
end

inside:add(0x0021, Dissector.get("ip"))
inside:add(0xfe01, arp)
inside:add(0xfe03, nsp)
inside:add(0xfe05, ssp)

-- The link types that Kumiki writes, see above. The name of the table of numbers changed between versions.
local encapsulations = wtap_encaps or wtap
local frames = DissectorTable.get("wtap_encap")
frames:add(encapsulations.USER14, v1)
frames:add(encapsulations.USER15, v16)
