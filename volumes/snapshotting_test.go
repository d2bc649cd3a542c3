package volumes

import "testing"

// TestChooseClass: the requested class, or the one that the snapshot-controller would choose.
func TestChooseClass(t *testing.T) {
	all := []SnapshotClass{{Name: "b", Driver: "d"}, {Name: "a", Driver: "d"}, {Name: "other", Driver: "e", Default: true}}
	marked := append([]SnapshotClass{{Name: "c", Driver: "d", Default: true}}, all...)
	for _, tc := range []struct {
		classes              []SnapshotClass
		driver, asked, class string
		lacks                string
	}{
		{all, "d", "a", "a", ""},
		{all, "d", "other", "", "VolumeSnapshotClass other is of CSI driver e, and the volumes are of d"},
		{all, "d", "none", "", "there is no VolumeSnapshotClass none"},
		{all, "e", "", "other", ""},
		{all, "f", "", "", "no VolumeSnapshotClass is of CSI driver f"},
		{marked, "d", "", "c", ""},
		{all, "d", "", "", "several VolumeSnapshotClasses are of CSI driver d, and not one of them alone is the default: a, b"},
	} {
		if class, lacks := ChooseClass(tc.classes, tc.driver, tc.asked); class != tc.class || lacks != tc.lacks {
			t.Errorf("%s, %s: %q, %q", tc.driver, tc.asked, class, lacks)
		}
	}
}

// TestDriverOf: only handles of CSI drivers have a driver.
func TestDriverOf(t *testing.T) {
	for handle, want := range map[string][2]string{
		"d.example/vol/1": {"d.example", "vol/1"}, `{"hostPath":{"path":"/a/b"}}`: {}, "disk": {}, "": {},
		"nfs nfs.corp:/exports/a": {}, "d.example/free text {server=s, share=/a}": {"d.example", "free text"},
	} {
		if driver, volume := DriverOf(handle); driver != want[0] || volume != want[1] {
			t.Errorf("%s: %q %q", handle, driver, volume)
		}
	}
}
