package slim

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func volumeOf(uid, version, class string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "data", UID: types.UID(uid), ResourceVersion: version},
		Spec:       corev1.PersistentVolumeSpec{StorageClassName: class},
	}
}

// TestOnce: volumes that two identities received are kept once if they are equal in all fields, and separately otherwise,
// with any UIDs that a cluster sends.
func TestOnce(t *testing.T) {
	kept := &Volumes{}
	first := volumeOf("u", "1", "fast")
	if kept.Once(first) != first {
		t.Fatal("the first one is not kept")
	}
	for name, tc := range map[string]struct {
		told *corev1.PersistentVolume
		same bool
	}{
		"the same":                         {volumeOf("u", "1", "fast"), true},
		"a later state":                    {volumeOf("u", "2", "fast"), false},
		"another volume":                   {volumeOf("w", "1", "fast"), false},
		"another cluster, of the same UID": {volumeOf("u", "1", "slow"), false},
	} {
		t.Run(name, func(t *testing.T) {
			got := kept.Once(tc.told)
			if same := got == first; same != tc.same || !same && got != tc.told {
				t.Errorf("got %+v", got)
			}
		})
	}
	pod := &corev1.Pod{}
	if kept.Once(pod) != pod {
		t.Error("a pod is another one")
	}
	runtime.KeepAlive(first)
}

// TestOnceForgets: states that are no longer used are freed.
func TestOnceForgets(t *testing.T) {
	kept := &Volumes{}
	for i := range 1000 {
		kept.Once(volumeOf("u", strconv.Itoa(i), "fast"))
	}
	deadline := time.Now().Add(10 * time.Second)
	for kept.len() > 0 && time.Now().Before(deadline) {
		runtime.GC()
		runtime.Gosched()
	}
	if left := kept.len(); left > 0 {
		t.Errorf("%d are left", left)
	}
}

func (v *Volumes) len() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.states)
}
