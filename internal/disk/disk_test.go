package disk

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func volumeOf(source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}}
}

// mounting lists the fields, of any kind of source, that configure mounting or credentials.
var mounting = []string{
	"FSType", "ReadOnly", "SecretRef", "SecretFile", "Keyring", "User", "Group", "RadosUser", "CachingMode", "DiscoveryCHAPAuth", "SessionCHAPAuth",
	"ISCSIInterface", "InitiatorName", "Portals", "SSLEnabled", "StorageMode", "StoragePolicyName", "StoragePolicyID", "Type", "Kind", "ProtectionDomain", "StoragePool",
	"ControllerPublishSecretRef", "NodeStageSecretRef", "NodePublishSecretRef", "ControllerExpandSecretRef", "NodeExpandSecretRef",
}

// filled sets all fields of a value.
func filled(t *testing.T, value reflect.Value, text string) {
	t.Helper()
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		filled(t, value.Elem(), text)
	case reflect.Struct:
		for i := range value.NumField() { //nolint:modernize // the index is a path, too
			filled(t, value.Field(i), text)
		}
	case reflect.String:
		value.SetString(text)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32:
		value.SetInt(7)
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		filled(t, value.Index(0), text)
	case reflect.Map:
		value.Set(reflect.ValueOf(map[string]string{"share": text, "server": text}))
	default:
		t.Fatalf("a field of kind %s: say what is to be made of it", value.Kind())
	}
}

// TestK4EveryKind: for each kind of source in Kubernetes, the disk of a volume is known. A different disk has a different
// identity, and different mount settings do not change it.
func TestK4EveryKind(t *testing.T) {
	kinds := reflect.TypeFor[corev1.PersistentVolumeSource]()
	for i := range kinds.NumField() {
		name := kinds.Field(i).Name
		t.Run(name, func(t *testing.T) {
			of := func(text string, but ...string) *corev1.PersistentVolume {
				var source corev1.PersistentVolumeSource
				field := reflect.ValueOf(&source).Elem().Field(i)
				filled(t, field, text)
				for _, each := range but {
					if part := field.Elem().FieldByName(each); part.IsValid() {
						part.SetZero()
					}
				}
				return volumeOf(source)
			}
			one, other, mounted := of("/one"), of("/other"), of("/one", mounting...)
			if Known(one) == (name == "FlexVolume") || len(Filed(one)) == 0 {
				t.Errorf("the disk is not known: %q, %v", Handle(one), Filed(one))
			}
			if Handle(one) == Handle(other) || Relate(one, other) != Apart || found(one, other) {
				t.Errorf("two disks are taken for one: %q, %q", Handle(one), Handle(other))
			}
			if Handle(one) != Handle(mounted) || Relate(one, mounted) != Same || !found(one, mounted) {
				t.Errorf("mounted otherwise it is another one: %q, %q", Handle(one), Handle(mounted))
			}
		})
	}
	if none := volumeOf(corev1.PersistentVolumeSource{}); Known(none) || Handle(none) == Handle(&corev1.PersistentVolume{}) {
		t.Errorf("a source that is not known: %q", Handle(none))
	}
}

// found reports whether the index keys of one volume find another one.
func found(volume, by *corev1.PersistentVolume) bool {
	return slices.ContainsFunc(Sought(by), func(key string) bool { return slices.Contains(Filed(volume), key) })
}

func nfsOf(server, path string) *corev1.PersistentVolume {
	return volumeOf(corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: server, Path: path}})
}

func csiOf(driver, handle string, attributes ...string) *corev1.PersistentVolume {
	csi := &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle, VolumeAttributes: map[string]string{}}
	for i := 0; i < len(attributes); i += 2 {
		csi.VolumeAttributes[attributes[i]] = attributes[i+1]
	}
	return volumeOf(corev1.PersistentVolumeSource{CSI: csi})
}

func iscsiOf(portal, iqn string, lun int32) *corev1.PersistentVolume {
	return volumeOf(corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: portal, IQN: iqn, Lun: lun}})
}

// TestK4Relate: volumes that may have the same data are found, with any kind of source and spelling.
func TestK4Relate(t *testing.T) {
	aws := func(id string) *corev1.PersistentVolume {
		return volumeOf(corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id}})
	}
	azure := volumeOf(corev1.PersistentVolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: "/subscriptions/S/disks/D1"}})
	fc := func(lun int32, wwns ...string) *corev1.PersistentVolume {
		return volumeOf(corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{TargetWWNs: wwns, Lun: &lun}})
	}
	image := volumeOf(corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{CephMonitors: []string{"10.0.0.1"}, RBDPool: "kube", RBDImage: "img"}})
	for name, tc := range map[string]struct {
		volume, other *corev1.PersistentVolume
		want          Relation
	}{
		"an export":                             {nfsOf("nfs.corp", "/exports/a"), nfsOf("nfs.corp", "/exports/a"), Same},
		"an export in another spelling":         {nfsOf("NFS.corp.", "/exports//a/"), nfsOf("nfs.corp", "/exports/./a"), Same},
		"an export by an address":               {nfsOf("10.0.0.5", "/exports/a"), nfsOf("nfs.corp", "/exports/a"), Same},
		"an export by a short name":             {nfsOf("nfs", "/exports/a"), nfsOf("nfs.corp", "/exports/a"), Same},
		"an export of another server":           {nfsOf("nfs.corp", "/exports/a"), nfsOf("nas.corp", "/exports/a"), Apart},
		"an export of another address":          {nfsOf("10.0.0.5", "/exports/a"), nfsOf("10.0.0.6", "/exports/a"), Apart},
		"the folder above":                      {nfsOf("nfs.corp", "/exports"), nfsOf("nfs.corp", "/exports/a"), Same},
		"the root":                              {nfsOf("nfs.corp", "/"), nfsOf("nfs.corp", "/exports/a"), Same},
		"a folder below":                        {nfsOf("nfs.corp", "/exports/a/b"), nfsOf("nfs.corp", "/exports/a"), Within},
		"a folder beside":                       {nfsOf("nfs.corp", "/exports/ab"), nfsOf("nfs.corp", "/exports/a"), Apart},
		"an export by a CSI driver":             {csiOf("nfs.csi.k8s.io", "free", "server", "nfs.corp", "share", "/exports", "subDir", "a"), nfsOf("nfs.corp", "/exports/a"), Same},
		"an export by two handles":              {csiOf("nfs.csi.k8s.io", "x", "server", "nfs.corp", "share", "/a"), csiOf("nfs.csi.k8s.io", "y", "server", "nfs.corp", "share", "/a"), Same},
		"two folders of one share":              {csiOf("nfs.csi.k8s.io", "x", "server", "s", "share", "/a", "subdir", "1"), csiOf("nfs.csi.k8s.io", "y", "server", "s", "share", "/a", "subdir", "2"), Apart},
		"a share of SMB":                        {csiOf("smb.csi.k8s.io", "x", "source", `\\smb.corp\Share`), csiOf("smb.csi.k8s.io", "y", "source", "//SMB.corp/share"), Same},
		"one handle":                            {csiOf("d", "h"), csiOf("d", "h", "type", "ssd"), Same},
		"one handle of another driver":          {csiOf("d", "h"), csiOf("e", "h"), Apart},
		"disks of one class":                    {csiOf("d", "1", "pool", "p", "clusterID", "c"), csiOf("d", "2", "pool", "p", "clusterID", "c"), Apart},
		"a bucket by two handles":               {csiOf("s3", "1", "bucketName", "b"), csiOf("s3", "2", "bucketName", "b"), Same},
		"an image of Ceph":                      {csiOf("rbd.csi.ceph.com", "img", "pool", "kube", "staticVolume", "true"), image, Same},
		"a folder of CephFS":                    {csiOf("cephfs.csi.ceph.com", "1", "rootPath", "/v/a"), volumeOf(corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{Monitors: []string{"m"}, Path: "/v"}}), Within},
		"the root of EFS":                       {csiOf("efs.csi.aws.com", "fs-1"), csiOf("efs.csi.aws.com", "fs-1::fsap-2"), Same},
		"a LUN":                                 {iscsiOf("10.0.0.1:3260", "iqn.2003-01.a:t", 1), iscsiOf("10.0.0.1:3260", "iqn.2003-01.a:t", 1), Same},
		"a LUN by another portal":               {iscsiOf("10.0.0.2:3260", "IQN.2003-01.a:t", 1), iscsiOf("10.0.0.1:3260", "iqn.2003-01.a:t", 1), Same},
		"another LUN":                           {iscsiOf("10.0.0.1:3260", "iqn.2003-01.a:t", 2), iscsiOf("10.0.0.1:3260", "iqn.2003-01.a:t", 1), Apart},
		"a disk of EBS by its driver":           {aws("aws://us-east-1a/vol-1"), csiOf("ebs.csi.aws.com", "vol-1"), Same},
		"a disk of Azure by its driver":         {azure, csiOf("disk.csi.azure.com", "/subscriptions/s/disks/d1"), Same},
		"a disk behind one of its ports":        {fc(1, "50A", "50B"), fc(1, "50b"), Same},
		"another disk behind the same port":     {fc(1, "50A"), fc(2, "50A"), Apart},
		"a path, of the machine or of a volume": {volumeOf(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}), volumeOf(corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data/"}}), Same},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Relate(tc.volume, tc.other); got != tc.want {
				t.Errorf("got %d, want %d: %+v, %+v", got, tc.want, of(tc.volume).places, of(tc.other).places)
			}
			if tc.want != Apart && (!found(tc.other, tc.volume) || !found(tc.volume, tc.other)) {
				t.Errorf("it is not found: %v in %v", Sought(tc.volume), Filed(tc.other))
			}
		})
	}
}

// TestK4Handle: volumes with equal handles are the same disk, so a handle contains everything that distinguishes disks.
func TestK4Handle(t *testing.T) {
	if got := Handle(csiOf("d", "h", "type", "ssd", "csi.storage.k8s.io/pv/name", "pvc-1")); got != "d/h" {
		t.Errorf("how a disk is made is in %q", got)
	}
	if Handle(csiOf("nfs.csi.k8s.io", "free", "server", "a", "share", "/1")) == Handle(csiOf("nfs.csi.k8s.io", "free", "server", "a", "share", "/2")) {
		t.Error("two shares are one for the text of their handle")
	}
	if Handle(iscsiOf("10.0.0.1", "iqn", 1)) == Handle(iscsiOf("10.0.0.2", "iqn", 1)) {
		t.Error("two portals may be two arrays")
	}
}
