// Package workload defines the kinds of StatefulSet that a migration can move, one file each. All have the fields of
// apps/v1 under the same names and are read as apps/v1. A Kind describes the differences.
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

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// Kind is one kind of StatefulSet. A new kind embeds Native and overrides the methods in which it differs.
type Kind interface {
	// APIVersion is the group and version by which a Migration names the kind.
	APIVersion() string
	// Resource is the name that kubectl uses.
	Resource() string
	// AddToScheme adds the kind's Go type to the scheme.
	AddToScheme(scheme *runtime.Scheme) error
	// New returns an empty set.
	New(meta metav1.ObjectMeta) client.Object
	// Unsupported returns the fields that are set in the given set but do not exist in the kind.
	Unsupported(set *slicesapi.StatefulSet) []string
	// KeepsStart reports whether every API server that serves the kind keeps spec.ordinals.
	KeepsStart() bool
	// UpdatesTemplates reports whether the claim templates of a set change by an update of the set. Otherwise the set is
	// recreated for it. Claims that exist stay as they are in both.
	UpdatesTemplates() bool
	// OpensGate reports whether the kind's controller opens the readiness gate of in-place updates.
	OpensGate() bool
	// Fenced returns the annotations that inform the kind's controller that a migration drives the set.
	Fenced() map[string]any
	// Released returns the annotations that inform the controller that no migration drives the set any more. A nil value
	// removes an annotation. split is true when the application remains split over two sets.
	Released(split bool) map[string]any
	// Observe returns the facts about a set that apps/v1 does not express. pods may be empty.
	Observe(set client.Object, pods []corev1.Pod) Facts
	// Updating reports whether the pod is being updated in place. Its Ready condition may then refer to the previous
	// revision.
	Updating(pod *corev1.Pod) bool
}

// Facts holds what a kind records about a set beyond apps/v1.
type Facts struct {
	// Managed is true when the kind's controller honours the cap that a migration sets.
	Managed bool
	// AllAtOnce is true when a rollout replaces all pods at once. DeleteRequested is true when a user has requested the
	// deletion of a pod, which the controller carries out like a rollout.
	AllAtOnce, DeleteRequested bool
	// Cap is how many pods a rollout may take down, as set by the migration; nil if it is not set. CapObserved is true
	// when the controller has confirmed it.
	Cap         *int32
	CapObserved bool
	// SkipsOrdinals is true when the range of ordinals has gaps.
	SkipsOrdinals bool
	// Paused is true when rollouts are paused. ByHand is true when a pod gets a new revision only after a user deletes
	// it.
	Paused, ByHand bool
	// Failed is true when the revision of the template has failed and its controller keeps the pods at the former one.
	Failed bool
	// KeepsBelow is the ordinal below which pods keep the previous revision; 0 if there is none.
	KeepsBelow int32
	// Unmarked is true when the set lacks the annotations of Fenced.
	Unmarked bool
	// TemplatesLocked is why the claim templates of the set cannot change now; empty if they can. TemplatesUnlock is the
	// merge patch of the set after which they can.
	TemplatesLocked, TemplatesUnlock string
	// MinReadySeconds applies to rollouts, in kinds that set it separately.
	MinReadySeconds int32
}

var kinds = []Kind{Native{}, Slice{}}

// types holds the Go types of the sets of kinds, in the same order.
var types = []reflect.Type{typeOf(Native{}), typeOf(Slice{})}

func typeOf(kind Kind) reflect.Type { return reflect.TypeOf(kind.New(metav1.ObjectMeta{})) }

// Register adds a kind. Call it at program start, before any scheme is built. It panics if the apiVersion is already
// registered or has no group, which is a programming error.
func Register(kind Kind) {
	taken := slices.ContainsFunc(kinds, func(other Kind) bool { return other.APIVersion() == kind.APIVersion() })
	if taken || !strings.Contains(kind.APIVersion(), "/") {
		panic(fmt.Sprintf("the kind of StatefulSet of %q cannot be registered", kind.APIVersion()))
	}
	kinds, types = append(kinds, kind), append(types, typeOf(kind))
}

// All returns the registered kinds.
func All() []Kind { return slices.Clone(kinds) }

// Of returns the kind of an apiVersion. An empty apiVersion means Native, the default of the API. Sets of an
// unregistered kind are neither read nor written; see Problem.
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

// Problem returns why sets of an apiVersion cannot be moved: the kind is not registered. It is empty if it is.
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

// unknown is a kind of which only the apiVersion is known.
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

// Is reports whether an object is a set of any kind. It runs for every watched event, so it must be cheap.
func Is(object client.Object) bool { return slices.Contains(types, reflect.TypeOf(object)) }
