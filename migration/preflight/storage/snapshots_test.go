package storage

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// TestSnapshots: the destination must have the driver and a class of it. An unobservable release, and an impossible
// rollback, are warnings.
func TestSnapshots(t *testing.T) {
	driver := func(attaches bool) *storagev1.CSIDriver {
		return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: storagev1.CSIDriverSpec{AttachRequired: &attaches}}
	}
	class := func(provisioner string) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: provisioner}
	}
	snapshots := manifest.Empty(manifest.ClassListKind.GroupVersion().WithKind("VolumeSnapshotClass"), volumes.Ref{Name: "snapshots"})
	snapshots.Object["driver"] = "d"
	all := []client.Object{driver(true), class("d"), snapshots}
	for name, tc := range map[string]struct {
		handle      corev1.PersistentVolumeSource
		source      []client.Object
		destination []client.Object
		reason      string
		warns       bool
	}{
		"all is there":      {ofDriver, []client.Object{driver(true)}, all, "", false},
		"not of CSI":        {corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}, nil, nil, "", false},
		"no driver":         {ofDriver, nil, all[1:], volumes.ReasonDriverMissing, false},
		"another driver":    {ofDriver, nil, []client.Object{all[0], class("e"), all[2]}, volumes.ReasonClassMissing, false},
		"no release":        {ofDriver, []client.Object{driver(false)}, all, volumes.ReasonReleaseUnseen, true},
		"no way back":       {ofDriver, nil, all[:2], volumes.ReasonSnapshotClassMissing, true},
		"no class of disks": {ofDriver, nil, []client.Object{all[0], all[2]}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			name := "fast"
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-1"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv", StorageClassName: &name}}
			pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: tc.handle}}
			both := &endpoint.Pair{
				Source:      endpoint.Endpoint{Cluster: "east", Namespace: "shop", Live: fake.NewClientBuilder().WithObjects(append(tc.source, claim, pv)...).Build()},
				Destination: endpoint.Endpoint{Cluster: "west", Namespace: "shop", Live: fake.NewClientBuilder().WithObjects(tc.destination...).Build()},
			}
			m := &api.Migration{Spec: api.MigrationSpec{Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodSnapshot}}}}
			found, err := Snapshots(t.Context(), both, m, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, 1)
			switch {
			case err != nil:
				t.Fatal(err)
			case tc.reason == "" && len(found) > 0:
				t.Errorf("%+v", found)
			case tc.reason != "" && (len(found) != 1 || found[0].Reason != tc.reason || found[0].Warning != tc.warns || found[0].Remedy == ""):
				t.Errorf("%+v", found)
			}
		})
	}
}

// ofDriver is the source of a volume of the driver.
var ofDriver = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "v"}}
