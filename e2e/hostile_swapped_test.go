package e2e

import (
	"net/http"
	"os/exec"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/hostile"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// swapped: who answers with another object than was asked for is not believed.
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
		all = append(all, h.migrates(name, name, ""))
	}
	h.refused(all, time.Minute, "another object")
	sets, err := h.typed.AppsV1().StatefulSets("").List(h.t.Context(), metav1.ListOptions{LabelSelector: "app=victim"})
	h.must(err)
	if len(sets.Items) > 0 {
		h.t.Errorf("made: %v", sets.Items)
	}
}

// forged: a record that somebody else wrote has the command move nothing that it was not
// told to.
func forged(h *tenant) {
	apps := map[string]*fixture.App{}
	for _, name := range []string{"web", "victim"} {
		app := usual(2)
		app.Namespace, app.Name = h.namespace, name
		apps[name] = &app
		h.must(app.Deploy(h.t.Context(), h.typed))
	}
	record := fixture.NewMigration(h.namespace, "web")
	record.Spec.Source.Name = "victim"
	record.Spec.Destination = api.DestinationReference{Name: "elsewhere"}
	store := records.ConfigMap{Client: h.client, Namespace: h.namespace, Name: "web"}
	h.must(store.Create(h.t.Context(), record))
	cmd := exec.CommandContext(h.t.Context(), program(h.t, "migrate"), "run", "web", "-n", h.namespace, "--kubeconfig", h.at.Kubeconfig(), "--to-name", "web-next")
	said, err := cmd.CombinedOutput()
	if code := codeOf(err); code != exitRefused || !strings.Contains(string(said), "is not believed") {
		h.t.Errorf("it ended with %d:\n%s", code, said)
	}
	for name := range apps {
		set, err := h.typed.AppsV1().StatefulSets(h.namespace).Get(h.t.Context(), name, metav1.GetOptions{})
		h.must(err)
		if set.Generation != 1 || set.Annotations[api.FenceAnnotationKey] != "" {
			h.t.Errorf("StatefulSet %s was changed: %+v", name, set.ObjectMeta)
		}
	}
}

// exitRefused is the code with which the command ends when it refuses.
const exitRefused = 3
