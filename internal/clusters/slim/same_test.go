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

// TestOnce: what two were told is kept once when it is the same in every word, and not otherwise, whatever a cluster
// says of itself.
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

// TestOnceForgets: of what nobody keeps nothing stays.
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
