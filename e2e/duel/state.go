package duel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// event is an event of a pod.
type event struct {
	what    string
	ordinal int32
	// image identifies the revision of a created pod.
	image string
}

// The events of a pod.
const (
	created = "create"
	ready   = "ready"
	deleted = "delete"
)

func (e event) String() string {
	if e.image == "" {
		return fmt.Sprintf("%s %d", e.what, e.ordinal)
	}
	return fmt.Sprintf("%s %d@%s", e.what, e.ordinal, e.image)
}

// events records the events of the pods of a side.
type events struct {
	set  string
	mu   sync.Mutex
	seen map[types.UID]*podSeen
	all  []event
}

type podSeen struct{ ready, deleted bool }

func newEvents(s *side) *events { return &events{set: s.set, seen: map[types.UID]*podSeen{}} }

// see records a state of a pod from a watch.
func (e *events) see(pod *corev1.Pod, gone bool) {
	ordinal, ok := ordinalOf(e.set, pod.Name)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.seen[pod.UID]
	if known == nil {
		known = &podSeen{}
		e.seen[pod.UID] = known
		e.all = append(e.all, event{created, ordinal, pod.Spec.Containers[0].Image})
	}
	if isReady(pod) && !known.ready && !known.deleted {
		e.all = append(e.all, event{what: ready, ordinal: ordinal})
	}
	known.ready = isReady(pod)
	if (gone || pod.DeletionTimestamp != nil) && !known.deleted {
		known.deleted = true
		e.all = append(e.all, event{what: deleted, ordinal: ordinal})
	}
}

// take returns the events since the last call.
func (e *events) take() []event {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.all
	e.all = nil
	return all
}

func (e *events) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.all)
}

// chains returns the events of each ordinal, in their order.
func chains(all []event) map[int32]string {
	byOrdinal := map[int32][]event{}
	for _, one := range all {
		byOrdinal[one.ordinal] = append(byOrdinal[one.ordinal], one)
	}
	texts := map[int32]string{}
	for ordinal, events := range byOrdinal {
		texts[ordinal] = inWords(events)
	}
	return texts
}

// ordered returns the events in the order that OrderedReady prescribes. Deletions are omitted where several pods may
// be deleted at the same time.
func ordered(all []event, deletions bool) string {
	if !deletions {
		all = slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.what == deleted })
	}
	return inWords(all)
}

func inWords(all []event) string {
	words := make([]string, 0, len(all))
	for _, one := range all {
		words = append(words, one.String())
	}
	return strings.Join(words, ", ")
}

func ordinalOf(set, name string) (int32, bool) {
	rest, found := strings.CutPrefix(name, set+"-")
	ordinal, err := strconv.ParseInt(rest, 10, 32)
	return int32(ordinal), found && err == nil
}

func isReady(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.StatefulSetRevisionLabel] }

// state is the state of a side: lines that must be equal on both sides, and their sources.
type state struct {
	lines  map[string]string
	pods   map[int32]podState
	status appsv1.StatefulSetStatus
	// observed is true if the controller has observed the last write of the set.
	observed bool
	// happened counts the events of pods.
	happened int
	// held is the first reason for which our controller waits.
	held string
}

type podState struct {
	// template identifies the template of its revision.
	image, template    string
	updated, ready     bool
	terminating, ended bool
	pod                *corev1.Pod
}

// look reads the state of a side from the cache.
func (s *side) look(ctx context.Context) (state, error) {
	now := state{lines: map[string]string{}, pods: map[int32]podState{}}
	if err := s.lookAtSet(ctx, &now); err != nil {
		return now, err
	}
	templates, err := s.lookAtRevisions(ctx, &now)
	if err != nil {
		return now, err
	}
	if err := s.lookAtPods(ctx, &now, templates); err != nil {
		return now, err
	}
	return now, s.lookAtClaims(ctx, &now)
}

func (s *side) lookAtSet(ctx context.Context, now *state) error {
	set := s.object()
	if err := s.cache.Get(ctx, s.key(s.set), set); err != nil {
		now.lines["set"] = "gone"
		now.observed = true
		return client.IgnoreNotFound(err)
	}
	switch set := set.(type) {
	case *appsv1.StatefulSet:
		now.status = set.Status
	case *sliceapi.StatefulSet:
		data, err := json.Marshal(set.Status)
		if err != nil {
			return err
		}
		var common appsv1.StatefulSetStatus
		if err := json.Unmarshal(data, &common); err != nil {
			return err
		}
		now.status = common
		if held := meta.FindStatusCondition(set.Status.Conditions, sliceapi.ConditionHeld); held != nil && held.Status == metav1.ConditionTrue {
			now.held = held.Reason + ": " + held.Message
		}
	}
	now.observed = now.status.ObservedGeneration == set.GetGeneration()
	return nil
}

// lookAtRevisions adds the history to the state, and returns the template of each revision.
func (s *side) lookAtRevisions(ctx context.Context, now *state) (map[string]string, error) {
	var list appsv1.ControllerRevisionList
	if err := s.cache.List(ctx, &list, client.InNamespace(s.namespace), client.MatchingLabels{appLabel: s.set}); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
	})
	templates, words := map[string]string{}, []string{}
	for i := range list.Items {
		revision := &list.Items[i]
		templates[revision.Name] = templateOf(revision)
		words = append(words, fmt.Sprintf("%d:%s", revision.Revision, templates[revision.Name]))
	}
	now.lines["revisions"] = strings.Join(words, " ")
	st := now.status
	for key, value := range map[string]any{
		"replicas": st.Replicas, "readyReplicas": st.ReadyReplicas, "availableReplicas": st.AvailableReplicas,
		"currentReplicas": st.CurrentReplicas, "updatedReplicas": st.UpdatedReplicas,
		"currentRevision": templates[st.CurrentRevision], "updateRevision": templates[st.UpdateRevision],
	} {
		now.lines["status."+key] = fmt.Sprint(value)
	}
	if st.CollisionCount != nil && *st.CollisionCount > 0 {
		now.lines["status.collisionCount"] = strconv.Itoa(int(*st.CollisionCount))
	}
	return templates, nil
}

// templateOf returns a name for the template of a revision.
func templateOf(revision *appsv1.ControllerRevision) string {
	var data struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil || len(data.Spec.Template.Spec.Containers) == 0 {
		return "unreadable"
	}
	template := data.Spec.Template
	return template.Spec.Containers[0].Image + template.Labels["step"]
}

func (s *side) lookAtPods(ctx context.Context, now *state, templates map[string]string) error {
	pods, err := s.pods(ctx)
	if err != nil {
		return err
	}
	for i := range pods {
		pod := &pods[i]
		revision := cmp.Or(templates[revisionOf(pod)], "of no revision")
		one := podState{
			image: pod.Spec.Containers[0].Image, template: revision, updated: revisionOf(pod) == now.status.UpdateRevision, ready: isReady(pod), pod: pod,
			terminating: pod.DeletionTimestamp != nil, ended: pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded,
		}
		if ordinal, named := ordinalOf(s.set, pod.Name); named {
			now.pods[ordinal] = one
		}
		var volumes []string
		for _, volume := range pod.Spec.Volumes {
			if volume.PersistentVolumeClaim != nil {
				volumes = append(volumes, volume.Name+"="+volume.PersistentVolumeClaim.ClaimName)
			}
		}
		slices.Sort(volumes)
		now.lines["pod "+pod.Name] = fmt.Sprintf("%s runs %s, %s ready %t terminating %t owners %s app %q name %q index %q step %q host %s.%s volumes %v",
			revision, one.image, pod.Status.Phase, one.ready, one.terminating, owners(pod), pod.Labels[appLabel], pod.Labels[appsv1.StatefulSetPodNameLabel],
			pod.Labels[appsv1.PodIndexLabel], pod.Labels["step"], pod.Spec.Hostname, pod.Spec.Subdomain, volumes)
	}
	return nil
}

func (s *side) lookAtClaims(ctx context.Context, now *state) error {
	var list corev1.PersistentVolumeClaimList
	if err := s.cache.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		claim := &list.Items[i]
		now.lines["claim "+claim.Name] = fmt.Sprintf("%s terminating %t owners %s app %q", claim.Status.Phase, claim.DeletionTimestamp != nil, owners(claim), claim.Labels[appLabel])
	}
	return nil
}

// owners returns the owners of an object in terms that are equal on both sides.
func owners(object metav1.Object) string {
	words := []string{}
	for _, ref := range object.GetOwnerReferences() {
		controls := ""
		if ref.Controller != nil && *ref.Controller {
			controls = "!"
		}
		words = append(words, ref.Kind+" "+ref.Name+controls)
	}
	slices.Sort(words)
	return fmt.Sprint(words)
}
