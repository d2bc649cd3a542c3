// Package csi is a CSI driver for tests: identity, controller and node service over loop devices with ext4 and xfs in
// image files of a folder, by the CSI specification 1.13. Applications and movers see a disk like that of a cloud. It
// is attached to one node at a time, is formatted when it is first staged, has lost+found, can become full, and grows
// when its file system is grown.
//
// A Folder is the storage backend. Several clusters share it, each with a Driver for each of its nodes. All of them
// know a volume by its handle, whichever of them created it. The journal of the folder records all calls. So a test
// can prove in which order clusters attached and detached a volume, and that no call was refused.
//
// The driver is as strict as real backends. It refuses a second node while the first has the volume. It does not
// detach a volume from a node that still has it mounted.
//
// A test injects faults into the next calls of a method by Break, Fail, Lose, Hold and Late.
//
// A node may be a container of this machine, such as a node of kind (Options.Process). Then the driver mounts in the
// container.
//
// It needs root, /dev/loop-control, and mkfs of the file systems. Closing the folder removes everything. The folder of
// a killed process is removed when a process next creates a folder.
package csi
