package auditor

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestOrdinalOf(t *testing.T) {
	cases := map[string]struct {
		pod    string
		want   int32
		wantOK bool
	}{
		"an ordinal":         {"web-12", 12, true},
		"zero":               {"web-0", 0, true},
		"another set":        {"webshop-1", 0, false},
		"a longer set":       {"web-canary-1", 0, false},
		"leading zero":       {"web-01", 0, false},
		"a sign":             {"web-+1", 0, false},
		"negative":           {"web--1", 0, false},
		"beyond int32":       {"web-4294967296", 0, false},
		"nothing":            {"web-", 0, false},
		"a deployment's pod": {"web-7d4b9c-x2x", 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := ordinalOf(tc.pod, "web")
			if got != tc.want || ok != tc.wantOK {
				t.Errorf("got %d, %t, want %d, %t", got, ok, tc.want, tc.wantOK)
			}
		})
	}
}

func TestVolumeKeyOf(t *testing.T) {
	cases := map[string]struct {
		claim  string
		want   volumeKey
		wantOK bool
	}{
		"a claim":                {"data-web-3", volumeKey{3, "data"}, true},
		"a template with a dash": {"wal-log-web-3", volumeKey{3, "wal-log"}, true},
		"another template":       {"tmp-web-3", volumeKey{}, false},
		"another set":            {"data-my-web-3", volumeKey{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := volumeKeyOf(tc.claim, "web", []string{"data", "wal-log"})
			if got != tc.want || ok != tc.wantOK {
				t.Errorf("got %v, %t, want %v, %t", got, ok, tc.want, tc.wantOK)
			}
			if ok && got.claimName("web") != tc.claim {
				t.Errorf("the way back gives %q", got.claimName("web"))
			}
		})
	}
}

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
