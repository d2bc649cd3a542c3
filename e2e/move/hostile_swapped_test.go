package move

import (
	"net/http"
	"os/exec"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/hostile"
	"github.com/sliceshift/sliceshift/internal/records"
)

// swapped: the manager rejects an answer about another object than the requested one.
func swapped(h *tenant) {
	var all []*api.Migration
	for name, change := range map[string]func(metadata hostile.Object){
		"name":      func(metadata hostile.Object) { metadata["name"] = "victim" },
		"namespace": func(metadata hostile.Object) { metadata["namespace"] = "kube-system" },
	} {
		s := h.server(name)
		s.Deploy(h.namespace, "web", 1)
		s.Hook(hostile.On(http.MethodGet, "/apis/apps/v1/namespaces/"+h.namespace+"/statefulsets/", "web", func(w http.ResponseWriter, _ *http.Request) {
			set := s.Find("statefulsets", h.namespace, "web")
			metadata, _ := set["metadata"].(hostile.Object)
			change(metadata)
			hostile.JSON(w, http.StatusOK, set)
		}))
		all = append(all, h.migrates(name+"-source", name, ""), h.migrates(name+"-destination", "", name))
	}
	h.refused(all, time.Minute, "another object")
	sets, err := h.typed.AppsV1().StatefulSets("").List(h.t.Context(), metav1.ListOptions{LabelSelector: "app=victim"})
	h.must(err)
	if len(sets.Items) > 0 {
		h.t.Errorf("made: %v", sets.Items)
	}
}

// forged: a command does not act on a forged record that differs from the command's arguments or from the
// cluster.
func forged(h *tenant) {
	apps := []string{"web", "victim"}
	for _, name := range apps {
		app := harness.Usual(2)
		app.Namespace, app.Name = h.namespace, name
		h.must(app.Deploy(h.t.Context(), h.typed))
	}
	record := fixture.NewMigration(h.namespace, "web")
	record.Spec.Source.Name = "victim"
	record.Spec.Destination = api.DestinationReference{Name: "elsewhere"}
	store := records.ConfigMap{Client: h.client, Namespace: h.namespace, Name: "web"}
	h.must(store.Create(h.t.Context(), record))
	h.disbelieve("of another set", "run", "plan")
	h.must(h.client.Delete(h.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: store.ObjectName()}}))

	record = fixture.NewMigration(h.namespace, "web")
	record.Spec.Destination = api.DestinationReference{Namespace: h.namespace, Name: "web-next"}
	id, err := h.typed.CoreV1().Namespaces().Get(h.t.Context(), "kube-system", metav1.GetOptions{})
	h.must(err)
	set, err := h.typed.AppsV1().StatefulSets(h.namespace).Get(h.t.Context(), "web", metav1.GetOptions{})
	h.must(err)
	record.Annotations = map[string]string{records.DestinationAnnotationKey: string(id.UID), records.DestinationNameAnnotationKey: h.at.Name()}
	h.must(store.Create(h.t.Context(), record))
	record.Status.Baseline = &api.Baseline{
		SourceCluster: id.UID, DestinationCluster: id.UID, SourceUID: set.UID, Replicas: 2, Budget: 2,
		DisruptionBudget: &api.DisruptionBudget{Name: "web", MaxUnavailable: new(intstr.FromInt32(2))},
	}
	h.must(store.Save(h.t.Context(), record))
	h.disbelieve("with a budget of its own", "run", "plan", "recover")
	for _, name := range apps {
		set, err := h.typed.AppsV1().StatefulSets(h.namespace).Get(h.t.Context(), name, metav1.GetOptions{})
		h.must(err)
		if set.Generation != 1 || set.Annotations[api.FenceAnnotationKey] != "" {
			h.t.Errorf("StatefulSet %s was changed: %+v", name, set.ObjectMeta)
		}
	}
}

// disbelieve checks that these commands refuse to act on a record.
func (h *tenant) disbelieve(record string, commands ...string) {
	h.t.Helper()
	for _, name := range commands {
		args := []string{name, "web", "-n", h.namespace, "--kubeconfig", h.at.Kubeconfig()}
		if name == "recover" {
			args = append(args, "--dry-run")
		} else {
			args = append(args, "--to-name", "web-next")
		}
		said, err := exec.CommandContext(h.t.Context(), harness.Program(h.t, "migrate"), args...).CombinedOutput()
		if code := codeOf(err); code != exitRefused || !strings.Contains(string(said), "is not believed") {
			h.t.Errorf("a record %s: migrate %s ended with %d:\n%s", record, name, code, said)
		}
	}
}

// exitRefused is the exit code of a refused command.
const exitRefused = 3
