// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "calls.hpp"
#include "errors.hpp"
#include "events.hpp"
#include "text.hpp"
#include "tracesmith/cluster/gpu_topology.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

void bindTopology(nb::module_& m) {
  nb::enum_<GPULinkType>(m, "GPULinkType",
                         "The best connection of two GPUs. NVSwitch: links through switches.")
      .value("None_", GPULinkType::None, "not known")
      .value("PCIe", GPULinkType::PCIe, "also across processors")
      .value("NVLink1", GPULinkType::NVLink1)
      .value("NVLink2", GPULinkType::NVLink2)
      .value("NVLink3", GPULinkType::NVLink3)
      .value("NVLink4", GPULinkType::NVLink4)
      .value("NVSwitch", GPULinkType::NVSwitch)
      .value("MXLink1", GPULinkType::MXLink1)
      .value("MXLink2", GPULinkType::MXLink2)
      .value("MXSwitch", GPULinkType::MXSwitch)
      .value("NVLink5", GPULinkType::NVLink5)
      .value("NVLink", GPULinkType::NVLink, "of a generation that is not known")
      .value("XGMI", GPULinkType::XGMI, "AMD Infinity Fabric");
  nb::enum_<GPUVendor>(m, "GPUVendor", "Maker of a GPU.")
      .value("Unknown", GPUVendor::Unknown)
      .value("NVIDIA", GPUVendor::NVIDIA)
      .value("AMD", GPUVendor::AMD)
      .value("MetaX", GPUVendor::MetaX)
      .value("Apple", GPUVendor::Apple);
  nb::class_<GPULink>(m, "GPULink", "The connection of two GPUs.")
      .def_ro("gpu_a", &GPULink::gpu_a)
      .def_ro("gpu_b", &GPULink::gpu_b)
      .def_ro("type", &GPULink::type)
      .def_ro("link_count", &GPULink::link_count, "in parallel; 1 for PCIe")
      .def_ro("bandwidth_gbps", &GPULink::bandwidth_gbps,
              "nominal, of all together from gpu_a to gpu_b, GB/s; 0: unknown")
      .def_ro("measured_bandwidth", &GPULink::measured_bandwidth, "0: nothing is measured")
      .def_ro("bidirectional", &GPULink::bidirectional, "both directions at the same time");
  nb::class_<GPUDeviceTopology>(m, "GPUDeviceTopology", "A GPU and where it is.")
      .def_ro("gpu_id", &GPUDeviceTopology::gpu_id)
      .def_ro("name", &GPUDeviceTopology::name)
      .def_ro("pci_bus_id", &GPUDeviceTopology::pci_bus_id)
      .def_ro("numa_node", &GPUDeviceTopology::numa_node, "-1: unknown")
      .def_ro("vendor", &GPUDeviceTopology::vendor)
      .def_ro("has_nvlink", &GPUDeviceTopology::has_nvlink)
      .def_ro("nvlink_count", &GPUDeviceTopology::nvlink_count,
              "to other GPUs, switches and processors")
      .def_ro("has_mxlink", &GPUDeviceTopology::has_mxlink)
      .def_ro("mxlink_count", &GPUDeviceTopology::mxlink_count)
      .def_ro("total_memory", &GPUDeviceTopology::total_memory, "bytes; 0: unknown")
      .def_ro("compute_major", &GPUDeviceTopology::compute_major, "of an NVIDIA GPU; 0: unknown")
      .def_ro("compute_minor", &GPUDeviceTopology::compute_minor);
  nb::class_<GPUTopologyInfo>(m, "GPUTopologyInfo", "The GPUs of a machine and their connections.")
      .def_ro("gpu_count", &GPUTopologyInfo::gpu_count)
      .def_ro("has_nvswitch", &GPUTopologyInfo::has_nvswitch)
      .def_ro("devices", &GPUTopologyInfo::devices)
      .def_ro("links", &GPUTopologyInfo::links, "each pair once, gpu_a < gpu_b")
      .def_ro("link_matrix", &GPUTopologyInfo::link_matrix, "GPULinkType, by gpu_id");
  nb::class_<GPUTopology>(m, "GPUTopology",
                          "How the GPUs of a machine are connected. Rates are nominal, in GB/s per "
                          "direction; 0: unknown. "
                          "A GPU that does not exist has no connections.")
      .def(nb::init<>())
      .def(
          "discover",
          [](GPUTopology& self) {
            GPUTopology found;
            const bool any = interruptible([&] { return found.discover(); });
            self = std::move(found);
            return any;
          },
          "Looks at this machine. False if there is no GPU, or nothing could be read: see "
          "problems.")
      .def(
          "read",
          [](GPUTopology& self, const nb::object& path) {
            GPUTopology found;
            const std::string name = pathOf(path);
            check(interruptible([&] { return found.read(name); }));
            self = std::move(found);
          },
          nb::arg("path"),
          "Reads a file, or a folder with a copy of /sys, as `tracesmith topology --from` does.")
      .def_prop_ro("problems", &GPUTopology::problems,
                   "what contradicts itself or could not be read")
      .def("is_discovered", &GPUTopology::isDiscovered)
      .def("get_topology", &GPUTopology::getTopology, nb::rv_policy::reference_internal)
      .def("get_gpu_count", &GPUTopology::getGPUCount)
      .def("get_link_type", &GPUTopology::getLinkType, nb::arg("gpu_a"), nb::arg("gpu_b"))
      .def("get_bandwidth", &GPUTopology::getBandwidth, nb::arg("gpu_a"), nb::arg("gpu_b"),
           "From gpu_a to gpu_b: an upper limit.")
      .def(
          "can_access_peer", &GPUTopology::canAccessPeer, nb::arg("gpu_a"), nb::arg("gpu_b"),
          "Whether links of their own or PCIe switches alone connect them. A driver may allow more "
          "than that, or forbid it.")
      .def("get_nvlink_count", &GPUTopology::getNVLinkCount, nb::arg("gpu_a"), nb::arg("gpu_b"))
      .def("is_directly_connected", &GPUTopology::isDirectlyConnected, nb::arg("gpu_a"),
           nb::arg("gpu_b"), "Whether links of their own connect them, also through switches.")
      .def("get_connected_gpus", &GPUTopology::getConnectedGPUs, nb::arg("gpu"))
      .def("get_device_info", &GPUTopology::getDeviceInfo, nb::arg("gpu"),
           "None if there is no such GPU.")
      .def("get_optimal_path", &GPUTopology::getOptimalPath, nb::arg("gpu_a"), nb::arg("gpu_b"),
           "The GPUs on the way, both ends included: the fewest that are directly connected.")
      .def("estimate_transfer_time", &GPUTopology::estimateTransferTime, nb::arg("gpu_a"),
           nb::arg("gpu_b"), nb::arg("bytes"),
           "bytes / get_bandwidth() in ns: a lower limit; None if the rate is unknown.")
      .def("to_ascii", &GPUTopology::toASCII, "What `tracesmith topology` prints.")
      .def("to_graphviz", &GPUTopology::toGraphviz)
      .def("to_json", &GPUTopology::toJSON)
      .def("print_summary", [](const GPUTopology& self) { nb::print(self.toASCII().c_str()); })
      .def("__repr__", [](const GPUTopology& self) {
        return "GPUTopology(gpus=" + std::to_string(self.getGPUCount()) + ")";
      });
  m.def("link_type_to_string", &linkTypeToString, nb::arg("type"));
  m.def("get_link_bandwidth", &getLinkBandwidth, nb::arg("type"),
        "Nominal rate of one link per direction in GB/s; 0 where it is not known.");
}

}  // namespace tracesmith::python
