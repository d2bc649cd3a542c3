// Package workload knows the kinds of StatefulSet that a migration can move, one file each. All have
// the fields of apps/v1 under the same names, and are looked at as apps/v1; a kind says what differs.
package workload

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// Kind is one kind of StatefulSet. Whoever adds one embeds Native and says what is different.
type Kind interface {
	// APIVersion is how a Migration names the kind: group and version.
	APIVersion() string
	// Resource is how kubectl names it.
	Resource() string
	// AddToScheme makes its Go type known.
	AddToScheme(scheme *runtime.Scheme) error
	// New is an empty set.
	New(meta metav1.ObjectMeta) client.Object
	// Unsupported names the fields which are set in a set and which the kind does not have.
	Unsupported(set *slicesapi.StatefulSet) []string
	// KeepsStart is true when every API server that serves the kind keeps spec.ordinals.
	KeepsStart() bool
	// OpensGate is true when its controller opens the readiness gate of updates in place.
	OpensGate() bool
	// Fenced are the annotations by which its controller hears that a migration drives the set.
	Fenced() map[string]any
	// Released are those by which it hears that none does any more; nil takes one away. split is true
	// when the application stays split over two sets.
	Released(split bool) map[string]any
	// Observe returns what apps/v1 does not say of a set. It may be asked of a set that has no pods.
	Observe(set client.Object, pods []corev1.Pod) Facts
	// Updating is true for a pod that is changed in place, and may be Ready for what it was before.
	Updating(pod *corev1.Pod) bool
}

// Facts are what a kind says of a set beyond apps/v1.
type Facts struct {
	// Managed is true when the controller of the kind heeds the cap of a migration.
	Managed bool
	// AllAtOnce is true when a roll-out replaces all pods at once, DeleteRequested when somebody has asked
	// for a pod to go, which is done as a roll-out does it.
	AllAtOnce, DeleteRequested bool
	// Cap is how many pods a roll-out may take down as the migration has said; nil: it has said
	// nothing. CapObserved is true when the controller has confirmed it.
	Cap         *int32
	CapObserved bool
	// SkipsOrdinals is true when the range has gaps.
	SkipsOrdinals bool
	// Paused is true when roll-outs are paused, ByHand when a pod gets another revision only as somebody deletes it.
	Paused, ByHand bool
	// KeepsBelow is the ordinal below which pods keep the former revision; 0: there is none.
	KeepsBelow int32
	// Unmarked is true when the set lacks what Fenced says.
	Unmarked bool
	// MinReadySeconds of roll-outs, where the kind has them apart.
	MinReadySeconds int32
}

var kinds = []Kind{Native{}, Slice{}}

// types are the Go types of their sets, in the same order.
var types = []reflect.Type{typeOf(Native{}), typeOf(Slice{})}

func typeOf(kind Kind) reflect.Type { return reflect.TypeOf(kind.New(metav1.ObjectMeta{})) }

// Register makes one more kind known. It is for the start of a program, before any scheme is built:
// an apiVersion that is taken is a mistake in it, and panics.
func Register(kind Kind) {
	taken := slices.ContainsFunc(kinds, func(other Kind) bool { return other.APIVersion() == kind.APIVersion() })
	if taken || !strings.Contains(kind.APIVersion(), "/") {
		panic(fmt.Sprintf("the kind of StatefulSet of %q cannot be registered", kind.APIVersion()))
	}
	kinds, types = append(kinds, kind), append(types, typeOf(kind))
}

// All are the kinds that this program knows.
func All() []Kind { return slices.Clone(kinds) }

// Of is the kind of an apiVersion; Native, the API's default, without one. Of one that this program
// does not know nothing is read or written: see Problem.
func Of(apiVersion string) Kind {
	if apiVersion == "" {
		return Native{}
	}
	for _, kind := range kinds {
		if kind.APIVersion() == apiVersion {
			return kind
		}
	}
	return unknown{version: apiVersion}
}

// Problem is why a set of an apiVersion cannot be moved: this program does not know the kind. Empty: it
// does.
func Problem(apiVersion string) string {
	if _, is := Of(apiVersion).(unknown); !is {
		return ""
	}
	var known []string
	for _, kind := range kinds {
		known = append(known, kind.APIVersion())
	}
	return fmt.Sprintf("this version moves no StatefulSet of apiVersion %q: it knows %s", apiVersion, strings.Join(known, ", "))
}

// unknown is a kind of which only the name is known.
type unknown struct {
	Native
	version string
}

func (u unknown) APIVersion() string { return u.version }

func (u unknown) Resource() string { return "statefulsets of " + u.version }

func (u unknown) New(meta metav1.ObjectMeta) client.Object {
	set := &unstructured.Unstructured{}
	set.SetAPIVersion(u.version)
	set.SetKind("StatefulSet")
	set.SetNamespace(meta.Namespace)
	set.SetName(meta.Name)
	return set
}

// Is says whether an object is a set of any kind. It is asked of each event that is watched.
func Is(object client.Object) bool { return slices.Contains(types, reflect.TypeOf(object)) }
