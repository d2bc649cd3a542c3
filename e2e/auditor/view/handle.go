package view

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Handle identifies the storage behind a volume, whatever the name of the volume object: two volumes with the same
// handle are the same disk. It is empty for a volume source that the auditor does not know.
func Handle(pv *corev1.PersistentVolume) string {
	s := &pv.Spec.PersistentVolumeSource
	switch {
	case s.CSI != nil:
		return fmt.Sprintf("csi %s/%s", s.CSI.Driver, s.CSI.VolumeHandle)
	case s.HostPath != nil:
		return "hostPath " + s.HostPath.Path
	case s.Local != nil:
		return "local " + s.Local.Path
	case s.NFS != nil:
		return fmt.Sprintf("nfs %s:%s", s.NFS.Server, s.NFS.Path)
	case s.ISCSI != nil:
		return fmt.Sprintf("iscsi %s/%s/%d", s.ISCSI.TargetPortal, s.ISCSI.IQN, s.ISCSI.Lun)
	case s.FC != nil:
		return fibreChannelHandle(s.FC)
	default:
		return cloudHandle(s)
	}
}

func fibreChannelHandle(fc *corev1.FCVolumeSource) string {
	lun := ""
	if fc.Lun != nil {
		lun = strconv.Itoa(int(*fc.Lun))
	}
	return fmt.Sprintf("fc %s/%s/%s", strings.Join(fc.TargetWWNs, ","), lun, strings.Join(fc.WWIDs, ","))
}

// cloudHandle covers the in-tree names of cloud disks.
func cloudHandle(s *corev1.PersistentVolumeSource) string {
	switch {
	case s.AWSElasticBlockStore != nil:
		return "awsElasticBlockStore " + s.AWSElasticBlockStore.VolumeID
	case s.GCEPersistentDisk != nil:
		return "gcePersistentDisk " + s.GCEPersistentDisk.PDName
	case s.AzureDisk != nil:
		return "azureDisk " + s.AzureDisk.DataDiskURI
	case s.AzureFile != nil:
		return "azureFile " + s.AzureFile.SecretName + "/" + s.AzureFile.ShareName
	case s.Cinder != nil:
		return "cinder " + s.Cinder.VolumeID
	case s.VsphereVolume != nil:
		return "vsphereVolume " + s.VsphereVolume.VolumePath
	case s.RBD != nil:
		return fmt.Sprintf("rbd %s/%s/%s", strings.Join(s.RBD.CephMonitors, ","), s.RBD.RBDPool, s.RBD.RBDImage)
	case s.CephFS != nil:
		return fmt.Sprintf("cephfs %s:%s", strings.Join(s.CephFS.Monitors, ","), s.CephFS.Path)
	default:
		return ""
	}
}
