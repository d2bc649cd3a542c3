package workload

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOf: an empty apiVersion means the default kind of the API. An unregistered apiVersion yields no object that could
// be taken for a set.
func TestOf(t *testing.T) {
	for version, want := range map[string]Kind{"": Native{}, NativeVersion: Native{}, SliceVersion: Slice{}} {
		if got := Of(version); got != want {
			t.Errorf("%q is %T", version, got)
		}
		if problem := Problem(version); problem != "" {
			t.Errorf("%q: %s", version, problem)
		}
		if made := Of(version).New(metav1.ObjectMeta{Name: "web"}); made.GetName() != "web" || !Is(made) {
			t.Errorf("%q: a set of it is %T", version, made)
		}
	}
	const strange = "apps.example.com/v1"
	if problem := Problem(strange); !strings.Contains(problem, strange) || !strings.Contains(problem, NativeVersion) {
		t.Errorf("one that nobody knows: %q", problem)
	}
	if Is(Of(strange).New(metav1.ObjectMeta{})) {
		t.Error("one that nobody knows is taken for a set")
	}
	if Is(&corev1.Pod{}) {
		t.Error("a pod is taken for a set")
	}
	set := Native{}.New(metav1.ObjectMeta{})
	if made := testing.AllocsPerRun(10, func() { Is(set) }); made > 0 {
		t.Errorf("%v objects are made to tell a set", made)
	}
}

type named struct {
	Native
	version string
}

func (n named) APIVersion() string { return n.version }

// TestRegister: a kind without a group, or with an apiVersion that is already registered, is rejected.
func TestRegister(t *testing.T) {
	for _, version := range []string{"", "v1", NativeVersion, SliceVersion} {
		t.Run("apiVersion "+version, func(t *testing.T) {
			before := len(kinds)
			defer func() {
				if recover() == nil || len(kinds) != before {
					t.Error("it is registered")
				}
			}()
			Register(named{version: version})
		})
	}
}
