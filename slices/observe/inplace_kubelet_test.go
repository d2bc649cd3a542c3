package observe

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// slowKubelet runs the only container of a pod with arbitrary delays between its steps: it observes the pod, updates the
// container to the observed spec, and publishes the status.
type slowKubelet struct {
	pod *corev1.Pod
	// note is the record of the in-place update, or nil.
	note *ProgressInPlace
	// tells is false for a kubelet that does not report the observed generation.
	tells bool
	// seen is the observed generation, and wants the image in it. runs is the image of its container, and its count of
	// started containers.
	seen       int64
	wants      string
	runs       string
	started    int32
	unfinished *corev1.PodStatus
}

func newSlowKubelet(tells bool) *slowKubelet {
	k := &slowKubelet{tells: tells, pod: &corev1.Pod{}}
	k.pod.Generation = 1
	k.pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	k.see()
	k.start()
	k.publish()
	return k
}

func (k *slowKubelet) see() {
	k.seen, k.wants = k.pod.Generation, k.pod.Spec.Containers[0].Image
	k.know()
}

// act starts the container with the observed image if it runs another one. A crash has the same effect.
func (k *slowKubelet) act() {
	if k.runs != k.wants {
		k.start()
	}
}

func (k *slowKubelet) start() { k.started++; k.runs = k.wants; k.know() }

// know returns the status that would be published now.
func (k *slowKubelet) know() {
	k.unfinished = &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "web", Image: "docker.io/library/" + k.runs, ContainerID: strconv.Itoa(int(k.started)), RestartCount: k.started - 1, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}}
	if k.tells {
		k.unfinished.ObservedGeneration = k.seen
	}
}

func (k *slowKubelet) publish() { k.pod.Status = *k.unfinished }

// change patches the pod for an in-place update.
func (k *slowKubelet) change(image string) {
	if k.note != nil && k.note.unseen(k.pod) {
		return // Decide holds it
	}
	next := ProgressInPlace{Patched: &slicetest.Noon}
	if k.note != nil {
		next.Before = k.note.Before
	}
	changed := map[string]string{}
	if image != k.pod.Spec.Containers[0].Image {
		changed["web"] = image
	}
	next.Before = next.ContainersBefore(k.pod, changed)
	if k.note = &next; len(changed) > 0 {
		k.pod.Spec.Containers[0].Image = image
		k.pod.Generation++
	}
}

// TestSlowKubelet: with any sequence of images, an in-place update is complete once the kubelet is done, and never before
// the kubelet has observed it. By then a container with the new image is starting, and the kubelet reports the pod as Ready
// only afterwards.
func TestSlowKubelet(t *testing.T) {
	t.Run("X-04 images that follow each other", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			k := newSlowKubelet(rapid.Bool().Draw(t, "tells"))
			t.Repeat(map[string]func(*rapid.T){
				"change":  func(t *rapid.T) { k.change(fmt.Sprintf("web:%d", rapid.IntRange(1, 3).Draw(t, "image"))) },
				"see":     func(*rapid.T) { k.act(); k.see() }, // one sync ends before the next begins
				"fail":    func(*rapid.T) { k.see() },          // a sync that ends before it updates the container
				"act":     func(*rapid.T) { k.act() },
				"crash":   func(*rapid.T) { k.start() },
				"publish": func(*rapid.T) { k.publish() },
				"": func(t *rapid.T) {
					if k.note == nil || !k.note.done(k.pod) {
						return
					}
					if _, changes := k.note.Before["web"]; changes && k.tells && k.seen != k.pod.Generation {
						t.Fatalf("done before it was seen: %+v", k)
					}
					k.note = nil
				},
			})
			k.see()
			k.act()
			k.publish()
			if k.note != nil && !k.note.done(k.pod) || k.runs != k.pod.Spec.Containers[0].Image {
				t.Fatalf("it runs %s, and is never done: note %+v, status %+v", k.runs, k.note, k.pod.Status)
			}
		})
	})
}
