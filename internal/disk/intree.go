package disk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Kinds of places that several kinds of sources use.
const (
	nfs       = "nfs"
	iSCSI     = "iscsi"
	rbd       = "rbd"
	cephFS    = "cephfs"
	ebs       = "ebs"
	gcePD     = "gce-pd"
	cinder    = "cinder"
	azureDisk = "azure-disk"
	azureFile = "azure-file"
	portworx  = "portworx"
	onMachine = "path"
)

// ofInTree identifies the storage of an in-tree source. It returns an empty identity for kinds that are not listed.
func ofInTree(s *corev1.PersistentVolumeSource) identity {
	switch {
	case s.HostPath != nil:
		return inFolder(onMachine, "", s.HostPath.Path)
	case s.Local != nil:
		return inFolder(onMachine, "", s.Local.Path)
	case s.NFS != nil:
		return inFolder(nfs, s.NFS.Server, s.NFS.Path)
	case s.CephFS != nil:
		id := inFolder(cephFS, "", first(s.CephFS.Path, "/"))
		id.handle = cephFS + " " + listed(s.CephFS.Monitors) + ":" + folder(s.CephFS.Path)
		return id
	case s.Glusterfs != nil:
		id := inFolder("glusterfs", "", s.Glusterfs.Path)
		namespace := ""
		if s.Glusterfs.EndpointsNamespace != nil {
			namespace = *s.Glusterfs.EndpointsNamespace
		}
		id.handle = fmt.Sprintf("glusterfs %s/%s:%s", namespace, s.Glusterfs.EndpointsName, folder(s.Glusterfs.Path))
		return id
	case s.AzureFile != nil:
		namespace := ""
		if s.AzureFile.SecretNamespace != nil {
			namespace = *s.AzureFile.SecretNamespace
		}
		return oneDisk(azureFile, strings.ToLower(s.AzureFile.ShareName), namespace, s.AzureFile.SecretName)
	case s.FlexVolume != nil:
		return ofFlex(s.FlexVolume)
	}
	return ofDevice(s)
}

// ofDevice identifies the disk of a source that is a block device.
func ofDevice(s *corev1.PersistentVolumeSource) identity {
	switch {
	case s.ISCSI != nil:
		return oneDisk(iSCSI, lun(s.ISCSI.IQN, number(s.ISCSI.Lun)), strings.ToLower(s.ISCSI.TargetPortal))
	case s.RBD != nil:
		return oneDisk(rbd, first(s.RBD.RBDPool, "rbd")+"/"+s.RBD.RBDImage, listed(s.RBD.CephMonitors))
	case s.FC != nil:
		return ofFC(s.FC)
	case s.AWSElasticBlockStore != nil:
		return oneDisk(ebs, lastOf(s.AWSElasticBlockStore.VolumeID), partition(s.AWSElasticBlockStore.Partition))
	case s.GCEPersistentDisk != nil:
		return oneDisk(gcePD, lastOf(s.GCEPersistentDisk.PDName), partition(s.GCEPersistentDisk.Partition))
	case s.Cinder != nil:
		return oneDisk(cinder, lastOf(s.Cinder.VolumeID))
	case s.AzureDisk != nil:
		return oneDisk(azureDisk, lastOf(first(s.AzureDisk.DataDiskURI, s.AzureDisk.DiskName)), strings.ToLower(s.AzureDisk.DataDiskURI))
	case s.VsphereVolume != nil:
		return oneDisk("vsphere", strings.ToLower(s.VsphereVolume.VolumePath))
	case s.PortworxVolume != nil:
		return oneDisk(portworx, lastOf(s.PortworxVolume.VolumeID))
	case s.PhotonPersistentDisk != nil:
		return oneDisk("photon", s.PhotonPersistentDisk.PdID)
	case s.ScaleIO != nil:
		return oneDisk("scaleio", s.ScaleIO.VolumeName, s.ScaleIO.System, s.ScaleIO.Gateway)
	case s.StorageOS != nil:
		return oneDisk("storageos", s.StorageOS.VolumeNamespace+"/"+s.StorageOS.VolumeName)
	case s.Quobyte != nil:
		return oneDisk("quobyte", strings.Trim(s.Quobyte.Volume, "/"), s.Quobyte.Tenant, s.Quobyte.Registry)
	case s.Flocker != nil:
		return oneDisk("flocker", first(s.Flocker.DatasetUUID, s.Flocker.DatasetName))
	}
	return identity{}
}

// inFolder identifies a folder of a host. The same path may be another folder on each machine, and only the user can decide
// that.
func inFolder(kind, server, path string) identity {
	at := place{kind: kind, host: host(server), path: folder(path), folder: true}
	return identity{handle: kind + " " + at.host + ":" + at.path, places: []place{at}}
}

// oneDisk identifies a disk by its name, and by further texts that distinguish it from others.
func oneDisk(kind, name string, besides ...string) identity {
	var handle strings.Builder
	handle.WriteString(kind + " " + name)
	for _, text := range besides {
		if text != "" {
			handle.WriteString(" " + text)
		}
	}
	return identity{handle: handle.String(), places: []place{{kind: kind, path: name}}}
}

// ofFC identifies a disk that several ports lead to.
func ofFC(fc *corev1.FCVolumeSource) identity {
	var ways []string
	for _, wwid := range fc.WWIDs {
		ways = append(ways, strings.ToLower(wwid))
	}
	if fc.Lun != nil {
		for _, wwn := range fc.TargetWWNs {
			ways = append(ways, lun(wwn, number(*fc.Lun)))
		}
	}
	slices.Sort(ways)
	if len(ways) == 0 {
		return identity{}
	}
	id := identity{handle: "fc " + strings.Join(ways, ",")}
	for _, way := range ways {
		id.places = append(id.places, place{kind: "fc", path: way})
	}
	return id
}

// ofFlex identifies a volume of a flexVolume driver by its options, because only the driver on the nodes knows more.
func ofFlex(flex *corev1.FlexPersistentVolumeSource) identity {
	options, err := json.Marshal(flex.Options)
	if err != nil {
		return identity{}
	}
	return oneDisk("flexVolume", flex.Driver+" "+string(options))
}

func listed(names []string) string {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	return strings.Join(sorted, ",")
}

func number(n int32) string { return strconv.Itoa(int(n)) }

func partition(n int32) string {
	if n == 0 {
		return ""
	}
	return "partition " + number(n)
}
