package volumes

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

func exported(name, path string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.corp", Path: path}},
	}}
}

// TestK4Twin: another volume that may be the same disk is a twin, and a volume of the same name is not.
func TestK4Twin(t *testing.T) {
	for name, tc := range map[string]struct {
		policy Policy
		there  *corev1.PersistentVolume
		want   string
	}{
		"the same export":                      {Policy{}, exported("victim", "/exports/a"), "victim"},
		"a folder of it":                       {Policy{}, exported("victim", "/exports/a/b"), "victim"},
		"the folder above":                     {Policy{}, exported("victim", "/exports"), "victim"},
		"the folder above, to who may have it": {Unrestricted(), exported("root", "/exports"), ""},
		"a folder of it, to who may have it":   {Unrestricted(), exported("victim", "/exports/a/b"), "victim"},
		"another export":                       {Policy{}, exported("other", "/exports/b"), ""},
		"the volume itself":                    {Policy{}, exported("pv", "/exports/a"), ""},
	} {
		if got := tc.policy.Twin(exported("pv", "/exports/a"), []corev1.PersistentVolume{*tc.there}); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestK4TwinAtTheLastMoment: a twin that was created after the volume was judged prevents its creation, on
// whichever page of the list it is.
func TestK4TwinAtTheLastMoment(t *testing.T) {
	for _, source := range []corev1.PersistentVolumeSource{
		{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: "10.0.0.1:3260", IQN: "iqn.2003-01.a:t", Lun: 1}},
		{NFS: &corev1.NFSVolumeSource{Server: "nfs.corp", Path: "/exports/a"}},
		csi,
	} {
		volume, claim := east()
		volume.Spec.PersistentVolumeSource = source
		pair := both
		pair.Giver.Volume.Handle = Handle(volume)
		victim := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "victim"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}}
		carrier := carrierOf(clustertest.Hooks{}, volume, claim)
		others := []client.Object{victim}
		for i := range 3 {
			others = append(others, exported(fmt.Sprintf("other-%d", i), fmt.Sprintf("/other/%d", i)))
		}
		carrier.Taker = clustertest.Hooked(clustertest.Hooks{}, others...)
		if _, err := Apply(t.Context(), carrier, create, pair); !apierrors.IsConflict(err) {
			t.Errorf("%s: got %v", Handle(volume), err)
		}
		if err := carrier.Taker.Get(t.Context(), client.ObjectKey{Name: "pv"}, &corev1.PersistentVolume{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: it was made all the same: %v", Handle(volume), err)
		}
	}
}
