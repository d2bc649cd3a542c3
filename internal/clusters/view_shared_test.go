package clusters

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// TestVolumesAreKeptOnce: with any number of viewed namespaces, a cluster's volumes are watched once, until the last view
// leaves.
func TestVolumesAreKeptOnce(t *testing.T) {
	const room, volumes = 4 << 20, 50
	var mu sync.Mutex
	watched := map[string]int{}
	answer := stream("persistentvolumes", volumes)
	allowance := NewAllowance(room)
	west := within(t, allowance, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			mu.Lock()
			watched[r.URL.Path]++
			mu.Unlock()
		}
		answer(w, r)
	})
	var leaves []func()
	for _, namespace := range []string{"shop", "bank", "shop"} {
		view, leave, err := west.Watch(t.Context(), Scope{Namespace: namespace}, Subscription{Set: "web", Notify: func() {}})
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
		var list corev1.PersistentVolumeList
		if err := view.List(t.Context(), &list); err != nil || len(list.Items) != volumes {
			t.Errorf("namespace %s shows %d volumes: %v", namespace, len(list.Items), err)
		}
	}
	mu.Lock()
	if watched["/api/v1/persistentvolumes"] != 1 || watched["/apis/storage.k8s.io/v1/volumeattachments"] != 1 || watched["/api/v1/namespaces/shop/pods"] != 1 || watched["/api/v1/namespaces/bank/pods"] != 1 {
		t.Errorf("watched %v", watched)
	}
	mu.Unlock()
	for i, leave := range leaves {
		if len(west.core.spaces) == 0 {
			t.Errorf("nothing is kept after %d have left", i)
		}
		leave()
		leave()
	}
	west.close()
	back := func(context.Context) (bool, error) { return allowance.room() == room, nil }
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, back); err != nil || len(west.core.spaces) != 0 || len(west.core.hub.of) != 0 {
		t.Errorf("%d stores are left, and %d of %d bytes", len(west.core.spaces), allowance.room(), room)
	}
}

// TestFullOfVolumes: if the volumes of a cluster exceed the allowance, its views show nothing in any namespace, and all
// subscribers are woken (S3).
func TestFullOfVolumes(t *testing.T) {
	west := within(t, NewAllowance(4<<20), stream("persistentvolumes", 5))
	woken := make(chan struct{}, 100)
	var views []*View
	for _, namespace := range []string{"shop", "bank"} {
		view, leave, err := west.Watch(t.Context(), Scope{Namespace: namespace}, Subscription{Set: "web", Notify: func() { woken <- struct{}{} }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(leave)
		views = append(views, view)
	}
	large := &corev1.PersistentVolume{}
	large.Name = "large"
	large.Spec.HostPath = &corev1.HostPathVolumeSource{Path: strings.Repeat("a", 4<<20)}
	for len(woken) > 0 {
		<-woken
	}
	kept, err := views[0].volumes.keep(large)
	if volume := as[corev1.PersistentVolume](kept.(*corev1.PersistentVolume)); err != nil || volume.Spec.HostPath != nil {
		t.Errorf("it is kept: %v", err)
	}
	for range views {
		<-woken
	}
	for _, view := range views {
		for what, err := range map[string]error{"pods": view.List(t.Context(), &corev1.PodList{}), "volumes": view.List(t.Context(), &corev1.PersistentVolumeList{})} {
			if err == nil || !strings.Contains(err.Error(), "cluster west: it holds more in PersistentVolumes and VolumeAttachments than is kept") {
				t.Errorf("%s are shown: %v", what, err)
			}
		}
	}
	if _, _, err := west.Watch(t.Context(), Scope{Namespace: "third"}, Subscription{Set: "web", Notify: func() {}}); err == nil {
		t.Error("one more view is made of it")
	}
}

// TestNamespaceThatIsNotListed: a namespace whose lists are not answered delays no other, and the next caller tries it
// again.
func TestNamespaceThatIsNotListed(t *testing.T) {
	answer := stream("pods", 1)
	refused := true
	var mu sync.Mutex
	west := within(t, NewAllowance(4<<20), func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		refuses := refused
		mu.Unlock()
		if refuses && strings.Contains(r.URL.Path, "/namespaces/closed/") {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		answer(w, r)
	})
	closing, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := west.Watch(closing, Scope{Namespace: "closed"}, Subscription{Set: "web", Notify: func() {}})
		done <- err
	}()
	_, leave, err := west.Watch(t.Context(), Scope{Namespace: "shop"}, Subscription{Set: "web", Notify: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	cancel()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "cluster west: watching namespace closed: the first lists were not answered") {
		t.Errorf("got %v", err)
	}
	mu.Lock()
	refused = false
	mu.Unlock()
	_, leave, err = west.Watch(t.Context(), Scope{Namespace: "closed"}, Subscription{Set: "web", Notify: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	leave()
}
