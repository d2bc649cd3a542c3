package preflight

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestReleaseThatIsNotSeen: if no VolumeAttachment would show the release of a disk, there is a warning before the
// move (G6).
func TestReleaseThatIsNotSeen(t *testing.T) {
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disks.example.com", VolumeHandle: "h"}}
	driver := func(attaches *bool) client.Object {
		return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disks.example.com"}, Spec: storagev1.CSIDriverSpec{AttachRequired: attaches}}
	}
	const once, many = corev1.ReadWriteOnce, corev1.ReadWriteMany
	for name, tc := range map[string]struct {
		source corev1.PersistentVolumeSource
		mode   corev1.PersistentVolumeAccessMode
		block  bool
		driver client.Object
		read   error
		says   string
	}{
		"a driver that attaches":         {csi, once, false, driver(new(true)), nil, ""},
		"one that does not say":          {csi, once, false, driver(nil), nil, ""},
		"one that nobody has registered": {csi, once, false, nil, nil, ""},
		"one that does not attach":       {csi, once, false, driver(new(false)), nil, "CSI driver disks.example.com"},
		"one for several machines":       {csi, many, false, driver(new(false)), nil, ""},
		"a disk for several machines":    {csi, many, true, driver(new(false)), nil, "CSI driver disks.example.com"},
		"one that may not be read":       {csi, once, false, nil, apierrors.NewForbidden(storagev1.Resource("csidrivers"), "x", errors.New("no")), "may not be read"},
		"iSCSI":                          {corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{}}, once, false, nil, nil, "iscsi"},
		"Fibre Channel":                  {corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{}}, once, false, nil, nil, "fc"},
		"RBD":                            {corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{}}, once, false, nil, nil, "rbd"},
		"FlexVolume":                     {corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "x/y"}}, once, false, nil, nil, "FlexVolume driver x/y"},
		"NFS":                            {corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}, once, false, nil, nil, ""},
		"hostPath":                       {corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{}}, once, false, nil, nil, ""},
		"local":                          {corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}, once, false, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-7"}, Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: tc.source, AccessModes: []corev1.PersistentVolumeAccessMode{tc.mode},
				ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: "data-web-0"},
			}}
			if tc.block {
				pv.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
			}
			objects := []client.Object{pv}
			if tc.driver != nil {
				objects = append(objects, tc.driver)
			}
			hooks := clustertest.Before(func(_ string, o runtime.Object) error {
				if _, is := o.(*storagev1.CSIDriver); is {
					return tc.read
				}
				return nil
			})
			e := &Inspector{Pair: endpointtest.Pair(clustertest.Hooked(hooks, objects...), nil)}
			findings, err := e.release(t.Context(), &api.Migration{}, sharing(false))
			if err != nil {
				t.Fatal(err)
			}
			if tc.says == "" {
				if len(findings) > 0 {
					t.Errorf("found %+v", findings)
				}
				return
			}
			if len(findings) != 1 || !findings[0].Warning || findings[0].Reason != volumes.ReasonReleaseUnseen || findings[0].Remedy == "" ||
				!strings.Contains(findings[0].Message, tc.says) || !strings.Contains(findings[0].Message, "pv-7") {
				t.Errorf("found %+v, want a warning of %q", findings, tc.says)
			}
		})
	}
}
