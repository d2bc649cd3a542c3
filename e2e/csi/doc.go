// Package csi is a CSI driver for tests: identity, controller and node service over loop devices with ext4 and xfs in
// image files of a folder, by the CSI specification 1.13. What application and movers see is a disk as of a cloud: it
// is attached to one node at a time, is formatted when it is first staged, has lost+found, becomes full, and grows
// when its file system is grown.
//
// A Folder is the storage backend. Several clusters share it, each with a Driver for each of its nodes: a volume that
// one has made is known by its handle to all. What was done is in the journal of the folder: so a test can say in
// which order clusters attached and detached, and that none was refused.
//
// The driver is strict where backends are: a second node is refused while the first one has the volume, and a volume
// is not taken away from a node that still has it mounted.
//
// A test does harm by Fail, Lose, Hold and Late, for the next calls of a method.
//
// A node may be a container of this machine, such as those of kind (Options.Process): then the driver mounts in there.
//
// It needs root, /dev/loop-control, and mkfs of the file systems. Nothing is left when the folder is closed; what a
// killed process has left, the next one that makes a folder takes away.
package csi
