package move

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/hostile"
	"github.com/sliceshift/sliceshift/volumes"
)

// worst combines all attacks of tenants at once.
type worst struct {
	*tenancy
	migrations, namespaces int
	// thieves are the Migrations whose sources name other tenants' disks, by the kind of disk.
	thieves map[string]*thief
	// editors is the namespace of an editor who tries to create pods, tried counts the refused attempts, and
	// stop ends them.
	editors string
	tried   atomic.Int64
	stop    context.CancelFunc
}

// thief is a Migration whose source names a victim's disk.
type thief struct {
	*tenant
	m      *api.Migration
	source hostile.Object
}

// worst starts all attacks.
func (n *tenancy) worst(t *testing.T) *worst {
	t.Helper()
	h := n.tenant(t)
	w := &worst{tenancy: n, namespaces: 1, thieves: map[string]*thief{}, migrations: len(h.silent())}
	for name, hook := range endlessAnswers(h) {
		for _, side := range []string{"a", "b"} {
			s := h.server(name + "-" + side)
			s.Deploy(h.namespace, "web", 1)
			s.Hook(hook(s))
			h.migrates(name+"-"+side, name+"-"+side, "")
			w.migrations++
		}
	}
	w.retries(t)
	w.undecodable(t)
	w.steals(t)
	w.edits(t)
	return w
}

// retries adds servers that send a Retry-After of one hour (K2).
func (w *worst) retries(t *testing.T) {
	t.Helper()
	h := w.tenant(t)
	for i := range later / 2 {
		name := fmt.Sprintf("later-%d", i)
		s := h.server(name)
		s.Hook(comesLater(i, s))
		h.migrates(name, "", name)
	}
	w.migrations += later / 2
	w.namespaces++
}

// undecodable adds Migrations whose hooks contain invalid Job fields (K0).
func (w *worst) undecodable(t *testing.T) {
	t.Helper()
	h := w.tenant(t)
	for i, job := range rawJobs {
		m := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": api.GroupVersion.String(), "kind": "Migration", "metadata": map[string]any{"namespace": h.namespace, "name": fmt.Sprintf("raw-%d", i)},
			"spec": map[string]any{
				"source": map[string]any{"name": "web"}, "destination": map[string]any{"name": "other"},
			},
		}}
		hook := map[string]any{"name": "tell", "point": "BeforeMigration", "job": map[string]any{"spec": job}}
		m.Object["spec"].(map[string]any)["hooks"] = decoded(t, hostile.Object{"hooks": []any{hook}})["hooks"]
		if err := h.client.Create(t.Context(), m); err == nil {
			w.migrations++
		} else if !apierrors.IsInvalid(err) {
			t.Fatal(err)
		}
	}
	w.namespaces++
}

// steals adds sources that name the disk of a victim in the manager's own cluster, which has that disk's driver
// (K4).
func (w *worst) steals(t *testing.T) {
	t.Helper()
	if err := w.client.Create(t.Context(), &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "hostile.example.com"}}); err != nil {
		t.Fatal(err)
	}
	for kind, of := range sources {
		h := w.tenant(t)
		name := "victim-" + h.namespace
		victim := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "PersistentVolume", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"accessModes": []any{"ReadWriteOnce"}, "capacity": map[string]any{"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain"},
		}}
		maps.Copy(victim.Object["spec"].(map[string]any), decoded(t, of[0]))
		h.must(h.client.Create(t.Context(), victim))
		s := h.server("thief")
		s.Deploy(h.namespace, "web", 1)
		h.runsAs(s, "app")
		s.Swap("persistentvolumes", sourced(s.Find("persistentvolumes", "", hostile.VolumeName(h.namespace, "data-web-0")), "", of[1]))
		w.thieves[kind] = &thief{h, h.migrates("thief", "thief", ""), of[1]}
		w.migrations++
		w.namespaces++
	}
}

// runsAs sets the ServiceAccount of a server's StatefulSet to an account that the migration does not use.
func (h *tenant) runsAs(s *hostile.Server, account string) {
	h.t.Helper()
	h.must(h.client.Create(h.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: account}}))
	set := s.Find("statefulsets", h.namespace, "web")
	template, _ := set["spec"].(hostile.Object)["template"].(hostile.Object)
	template["spec"].(hostile.Object)["serviceAccountName"] = account
	s.Put("statefulsets", set)
}

// decoded converts an object so that its numbers have the types that clients accept.
func decoded(t *testing.T, of hostile.Object) map[string]any {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Source","spec":` + string(text) + `}`)); err != nil {
		t.Fatal(err)
	}
	spec, _ := object.Object["spec"].(map[string]any)
	return spec
}

// edits starts an editor of Migrations who repeatedly tries to create an object that runs a pod (K3).
func (w *worst) edits(t *testing.T) {
	t.Helper()
	h := w.tenant(t)
	w.namespaces++
	w.editors = h.namespace
	user := "editor-of-" + h.namespace
	_, err := w.typed.RbacV1().RoleBindings(h.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "editor"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sliceshift-migration-editor"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	h.must(err)
	config := rest.CopyConfig(w.at.RESTConfig())
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: w.client.Scheme()})
	h.must(err)
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	go func() {
		for ctx.Err() == nil {
			replicas := int32(1)
			set := &slicesapi.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "mine"}, Spec: slicesapi.StatefulSetSpec{
				Replicas: &replicas, ServiceName: "mine", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "mine"}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "mine"}}, Spec: corev1.PodSpec{
					ServiceAccountName: "default", Containers: []corev1.Container{{Name: "a", Image: "a"}},
				}},
			}}
			if err := c.Create(ctx, set); apierrors.IsForbidden(err) {
				w.tried.Add(1)
			}
			harness.Sleep(ctx, 100*time.Millisecond)
		}
	}()
}

// end stops the attacks and checks that no tenant has gained a disk or a pod.
func (w *worst) end(t *testing.T) {
	t.Helper()
	w.stop()
	ended := map[string]int{}
	made := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeList"}}
	if err := w.client.List(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	for kind, thief := range w.thieves {
		thief.t = t
		condition := thief.awaitReason(thief.m, time.Minute, volumes.ReasonForeignVolume, api.ReasonPermissionMissing)
		ended[condition.Reason]++
		t.Logf("%s: %s: %s", kind, condition.Reason, condition.Message)
		for i := range made.Items {
			spec, _ := made.Items[i].Object["spec"].(map[string]any)
			if hasSource(spec, thief.source) && !strings.HasPrefix(made.Items[i].GetName(), "victim-") {
				t.Errorf("%s: volume %s was made of the victim's disk", kind, made.Items[i].GetName())
			}
		}
	}
	if ended[volumes.ReasonForeignVolume] == 0 {
		t.Errorf("K4: no Migration was refused for the disk: %v", ended)
	}
	sets, pods := &slicesapi.StatefulSetList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{sets, pods} {
		if err := w.client.List(t.Context(), list, client.InNamespace(w.editors)); err != nil {
			t.Fatal(err)
		}
	}
	if len(sets.Items) > 0 || len(pods.Items) > 0 || w.tried.Load() == 0 {
		t.Errorf("K3: an editor of Migrations has %d StatefulSets and %d pods, and was refused %d times", len(sets.Items), len(pods.Items), w.tried.Load())
	}
}
