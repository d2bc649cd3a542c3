package storage

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// defaultClass is the annotation of the default StorageClass.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

func wantOne(t *testing.T, found []plan.Finding, reason string, warning bool, says string) {
	t.Helper()
	if says == "" {
		if len(found) > 0 {
			t.Errorf("found %+v", found)
		}
		return
	}
	if len(found) != 1 || found[0].Reason != reason || found[0].Warning != warning || found[0].Remedy == "" || !strings.Contains(found[0].Message, says) {
		t.Errorf("found %+v, want %s: %q", found, reason, says)
	}
}

// TestClasses: the destination's class of a claim template is checked after its mapping, and must have the volumes'
// driver.
func TestClasses(t *testing.T) {
	classes := []storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "disks.example.com"}, {ObjectMeta: metav1.ObjectMeta{Name: "slow"}, Provisioner: "nfs.example.com"},
	}
	marked := append([]storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "standard", Annotations: map[string]string{defaultClass: "true"}}, Provisioner: "nfs.example.com"}}, classes...)
	for name, tc := range map[string]struct {
		class, mapped *string
		classes       []storagev1.StorageClass
		driver        string
		says          string
	}{
		"it is there":                      {new("fast"), nil, classes, "disks.example.com", ""},
		"it is not":                        {new("gone"), nil, classes, "disks.example.com", "cluster west has no StorageClass gone, which claim template data names"},
		"it is mapped":                     {new("gone"), new("fast"), classes, "disks.example.com", ""},
		"mapped to none":                   {new("fast"), new("gone"), classes, "", "no StorageClass gone"},
		"made by hand":                     {new(""), nil, nil, "", ""},
		"the default":                      {nil, nil, marked, "", ""},
		"there is no default":              {nil, nil, classes, "", "no default StorageClass"},
		"of another driver":                {new("slow"), nil, classes, "disks.example.com", "StorageClass slow in cluster west is of driver nfs.example.com, and the volumes of claim template data are of disks.example.com"},
		"the default is of another driver": {nil, nil, marked, "disks.example.com", "StorageClass standard"},
		"volumes of no driver":             {new("slow"), nil, classes, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{}
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: tc.class}}}
			found := Classes(endpointtest.Destination(nil), set, tc.classes, Asked{Forms: map[string]volumes.Form{"data": {StorageClass: tc.mapped}}, Drivers: map[string]string{"data": tc.driver}})
			wantOne(t, found, volumes.ReasonClassMissing, true, tc.says)
		})
	}
}

// TestInline: an existing driver must support inline ephemeral volumes.
func TestInline(t *testing.T) {
	spec := corev1.PodSpec{Volumes: []corev1.Volume{{Name: "keys", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "secrets.example.com"}}}, {Name: "tmp"}}}
	driver := func(modes ...storagev1.VolumeLifecycleMode) []storagev1.CSIDriver {
		return []storagev1.CSIDriver{{ObjectMeta: metav1.ObjectMeta{Name: "secrets.example.com"}, Spec: storagev1.CSIDriverSpec{VolumeLifecycleModes: modes}}}
	}
	for name, tc := range map[string]struct {
		drivers []storagev1.CSIDriver
		says    string
	}{
		"it is there":      {driver(storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral), ""},
		"it is missing":    {nil, ""},
		"for claims only":  {driver(storagev1.VolumeLifecyclePersistent), "volumeLifecycleModes"},
		"it says no modes": {driver(), "volumeLifecycleModes"},
	} {
		t.Run(name, func(t *testing.T) {
			found := Inline(&endpoint.Pair{Source: endpointtest.Source(nil), Destination: endpointtest.Destination(nil)}, spec, tc.drivers)
			wantOne(t, found, volumes.ReasonDriverMissing, false, tc.says)
			if len(found) > 0 && !strings.Contains(found[0].Remedy, ": in cluster east: kubectl get csidriver secrets.example.com") {
				t.Errorf("what is at the source is shown by %s", found[0].Remedy)
			}
		})
	}
}

// TestResizing: a claim that is larger than its volume is reported, and so is a pending resize of its file system.
func TestResizing(t *testing.T) {
	for name, tc := range map[string]struct {
		asks      string
		condition corev1.PersistentVolumeClaimConditionType
		status    corev1.ConditionStatus
		says      string
	}{
		"as large as its volume": {"1Gi", "", "", ""},
		"smaller":                {"512Mi", "", "", ""},
		"larger":                 {"2Gi", "", "", "it asks for 2Gi, and its volume has 1Gi"},
		"under way":              {"1Gi", corev1.PersistentVolumeClaimResizing, corev1.ConditionTrue, "condition Resizing"},
		"its file system":        {"1Gi", corev1.PersistentVolumeClaimFileSystemResizePending, corev1.ConditionTrue, "FileSystemResizePending"},
		"over":                   {"1Gi", corev1.PersistentVolumeClaimResizing, corev1.ConditionFalse, ""},
		"another condition":      {"1Gi", "Other", corev1.ConditionTrue, ""},
	} {
		t.Run(name, func(t *testing.T) {
			size := func(text string) corev1.ResourceList {
				return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
			}
			claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-0"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv", Resources: corev1.VolumeResourceRequirements{Requests: size(tc.asks)}}}
			if tc.condition != "" {
				claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: tc.condition, Status: tc.status}}
			}
			pvs := map[string]*corev1.PersistentVolume{"pv": {Spec: corev1.PersistentVolumeSpec{Capacity: size("1Gi")}}}
			unbound := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-web-1"}}
			wantOne(t, Resizing(endpointtest.Source(nil), []corev1.PersistentVolumeClaim{unbound, claim}, pvs), volumes.ReasonResizePending, true, tc.says)
		})
	}
}
