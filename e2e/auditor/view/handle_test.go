package view

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestHandle(t *testing.T) {
	lun := int32(2)
	cases := map[string]struct {
		volume corev1.PersistentVolumeSource
		want   string
	}{
		"csi": {
			corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs", VolumeHandle: "vol-1"}},
			"csi ebs/vol-1",
		},
		"hostPath": {
			corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/disks/1"}}, "hostPath /disks/1",
		},
		"local": {corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/disks/1"}}, "local /disks/1"},
		"nfs": {
			corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/e"}}, "nfs s:/e",
		},
		"iscsi": {
			corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: "p", IQN: "i", Lun: 1}},
			"iscsi p/i/1",
		},
		"fc": {
			corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{TargetWWNs: []string{"w"}, Lun: &lun}}, "fc w/2/",
		},
		"an in-tree cloud disk": {
			corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "d"}},
			"gcePersistentDisk d",
		},
		"unknown": {corev1.PersistentVolumeSource{}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pv := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: tc.volume}}
			if got := Handle(pv); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
