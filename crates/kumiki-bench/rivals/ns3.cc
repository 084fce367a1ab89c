// The scenarios of `kumiki-bench sim` in ns-3, from Debian's packages; built and started by the benchmark.
//
// One TCP connection for each flow: NewReno, an acknowledgment for every second segment, window scaling, SACK and
// timestamps, socket buffers of --window octets, a source that writes 8192 octets at a time without Nagle, 2 octets of
// link header on each packet, drop-tail queues, no queue discipline above them. Flow i starts at (i mod 1000) ms.
//
//   pair       all flows between two hosts on one line
//   dumbbell   a pair of hosts for each flow; hosts on 1 Gb/s lines to edge routers of at most 32 hosts, these on
//              10 Gb/s lines to two core routers, the bottleneck between the two
//
// Prints one line of JSON.

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

const uint16_t PORT = 5001;
const uint32_t HOSTS_PER_EDGE = 32;

uint64_t linkPackets = 0;

void CountPacket(Ptr<const Packet>) { linkPackets++; }

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024.0;
}

struct Line {
  Ipv4Address first;
  Ipv4Address second;
  uint32_t firstInterface;
  uint32_t secondInterface;
};

// Joins two nodes by a line with addresses .1 and .2 of a network of four.
Line Join(Ptr<Node> a, Ptr<Node> b, const std::string& rate, Time delay, uint16_t mtu, uint32_t queue,
          const std::string& network) {
  PointToPointHelper line;
  line.SetDeviceAttribute("DataRate", StringValue(rate));
  line.SetDeviceAttribute("Mtu", UintegerValue(mtu));
  line.SetChannelAttribute("Delay", TimeValue(delay));
  line.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(queue) + "p"));
  NetDeviceContainer devices = line.Install(a, b);
  for (uint32_t i = 0; i < 2; i++) {
    devices.Get(i)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&CountPacket));
  }
  Ipv4AddressHelper addresses;
  addresses.SetBase(network.c_str(), "255.255.255.252");
  Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
  TrafficControlHelper().Uninstall(devices);
  return {interfaces.GetAddress(0), interfaces.GetAddress(1), interfaces.Get(0).second, interfaces.Get(1).second};
}

Ptr<Ipv4StaticRouting> Routes(Ptr<Node> node) {
  Ipv4StaticRoutingHelper helper;
  return helper.GetStaticRouting(node->GetObject<Ipv4>());
}

struct Flow {
  Ptr<Node> from;
  Ptr<Node> to;
  Ipv4Address address;
  uint16_t port;
};

std::string Network(uint32_t edge, uint32_t third, uint32_t fourth) {
  return "10." + std::to_string(edge) + "." + std::to_string(third) + "." + std::to_string(fourth);
}

std::vector<Flow> Pair(uint32_t flows, const std::string& rate, Time delay, uint16_t mtu, uint32_t queue) {
  NodeContainer hosts;
  hosts.Create(2);
  InternetStackHelper().Install(hosts);
  const Line line = Join(hosts.Get(0), hosts.Get(1), rate, delay, mtu, queue, "10.0.0.0");
  std::vector<Flow> all;
  for (uint32_t i = 0; i < flows; i++) {
    all.push_back({hosts.Get(0), hosts.Get(1), line.second, uint16_t(PORT + i)});
  }
  return all;
}

// One half of the dumbbell: hosts, edges, a core. Returns the hosts with their addresses.
std::vector<std::pair<Ptr<Node>, Ipv4Address>> Half(uint32_t flows, uint32_t firstEdge, Ptr<Node> core, uint16_t mtu,
                                                    uint32_t queue, InternetStackHelper& stack) {
  std::vector<std::pair<Ptr<Node>, Ipv4Address>> hosts;
  for (uint32_t start = 0; start < flows; start += HOSTS_PER_EDGE) {
    const uint32_t edgeNumber = firstEdge + start / HOSTS_PER_EDGE;
    Ptr<Node> edge = CreateObject<Node>();
    stack.Install(edge);
    const Line up =
        Join(edge, core, "10Gbps", MicroSeconds(1), mtu, queue, Network(edgeNumber, 1, 0));
    Routes(edge)->SetDefaultRoute(up.second, up.firstInterface);
    Routes(core)->AddNetworkRouteTo(Ipv4Address(Network(edgeNumber, 0, 0).c_str()), Ipv4Mask("255.255.0.0"), up.first,
                                    up.secondInterface);
    for (uint32_t i = start; i < std::min(flows, start + HOSTS_PER_EDGE); i++) {
      Ptr<Node> host = CreateObject<Node>();
      stack.Install(host);
      const Line access =
          Join(host, edge, "1Gbps", MicroSeconds(1), mtu, queue, Network(edgeNumber, 0, 4 * (i - start)));
      Routes(host)->SetDefaultRoute(access.second, access.firstInterface);
      hosts.emplace_back(host, access.first);
    }
  }
  return hosts;
}

std::vector<Flow> Dumbbell(uint32_t flows, const std::string& rate, Time delay, uint16_t mtu, uint32_t queue) {
  InternetStackHelper stack;
  NodeContainer cores;
  cores.Create(2);
  stack.Install(cores);
  const Line middle = Join(cores.Get(0), cores.Get(1), rate, delay, mtu, queue, "10.255.0.0");
  Routes(cores.Get(0))->SetDefaultRoute(middle.second, middle.firstInterface);
  Routes(cores.Get(1))->SetDefaultRoute(middle.first, middle.secondInterface);
  const auto left = Half(flows, 0, cores.Get(0), mtu, queue, stack);
  const auto right = Half(flows, 128, cores.Get(1), mtu, queue, stack);
  std::vector<Flow> all;
  for (uint32_t i = 0; i < flows; i++) {
    all.push_back({left[i].first, right[i].first, right[i].second, PORT});
  }
  return all;
}

}  // namespace

int main(int argc, char* argv[]) {
  std::string shape = "pair";
  std::string rate = "135Mbps";
  uint32_t rttMicroseconds = 1000, mtu = 8232, window = 16384, flows = 60, warmMs = 2000, measuredMs = 10000;
  CommandLine options;
  options.AddValue("shape", "pair or dumbbell", shape);
  options.AddValue("rate", "rate of the bottleneck", rate);
  options.AddValue("rtt-us", "round-trip propagation, microseconds", rttMicroseconds);
  options.AddValue("mtu", "MTU, octets", mtu);
  options.AddValue("window", "socket buffers, octets", window);
  options.AddValue("flows", "connections", flows);
  options.AddValue("warm-ms", "not measured at the start, milliseconds", warmMs);
  options.AddValue("measured-ms", "measured, milliseconds", measuredMs);
  options.Parse(argc, argv);

  Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mtu - 52));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
  Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));

  const Time delay = NanoSeconds(uint64_t(rttMicroseconds) * 500);
  const uint64_t wanted = uint64_t(2) * flows * window / mtu + 64;
  const uint32_t queue = uint32_t(std::min<uint64_t>(200000, std::max<uint64_t>(100, wanted)));
  const std::vector<Flow> all = shape == "dumbbell" ? Dumbbell(flows, rate, delay, uint16_t(mtu), queue)
                                                    : Pair(flows, rate, delay, uint16_t(mtu), queue);

  std::vector<Ptr<PacketSink>> sinks;
  for (uint32_t i = 0; i < all.size(); i++) {
    const Flow& flow = all[i];
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), flow.port));
    sinks.push_back(DynamicCast<PacketSink>(sink.Install(flow.to).Get(0)));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(flow.address, flow.port));
    source.SetAttribute("SendSize", UintegerValue(8192));
    source.SetAttribute("MaxBytes", UintegerValue(0));
    ApplicationContainer application = source.Install(flow.from);
    application.Start(MilliSeconds(i % 1000));
  }

  std::vector<uint64_t> before(sinks.size());
  Simulator::Schedule(MilliSeconds(warmMs), [&] {
    for (size_t i = 0; i < sinks.size(); i++) {
      before[i] = sinks[i]->GetTotalRx();
    }
  });
  Simulator::Stop(MilliSeconds(warmMs + measuredMs));
  const double built = CpuSeconds();
  Simulator::Run();
  const double done = CpuSeconds();

  double sum = 0, squares = 0;
  for (size_t i = 0; i < sinks.size(); i++) {
    const double rx = double(sinks[i]->GetTotalRx() - before[i]);
    sum += rx;
    squares += rx * rx;
  }
  std::cout.precision(10);
  std::cout << "{\"goodput_mbps\":" << sum * 8.0 / (measuredMs * 1e3) << ",\"jain\":"
            << (squares > 0 ? sum * sum / (double(sinks.size()) * squares) : 0.0)
            << ",\"events\":" << Simulator::GetEventCount() << ",\"link_packets\":" << linkPackets
            << ",\"cpu_build_s\":" << built << ",\"cpu_run_s\":" << done - built << ",\"peak_mb\":" << PeakMegabytes()
            << "}" << std::endl;
  Simulator::Destroy();
  return 0;
}
