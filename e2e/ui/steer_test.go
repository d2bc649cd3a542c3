package ui

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
)

// slow makes a handoff long enough for user actions on any machine.
func slow(spec *api.MigrationSpec) { spec.Handoff.MinReadySeconds = new(int32(8)) }

// fast lets the remaining handoffs run at full speed.
var fast = []byte(`{"spec":{"handoff":{"minReadySeconds":0}}}`)

// TestSteer: while the manager moves an application between clusters, a user finds the move in the list, opens
// it, pauses it, resumes it and rolls it back. All of that works with keys. The auditor agrees.
func TestSteer(t *testing.T) {
	built(t, "migrate", "manager")
	v := harness.NewMove(t, harness.Usual(3), harness.AcrossClusters, harness.WithSpec(slow))
	c := v.Managed()
	harness.StartManager(t, v.App.Namespace)
	v.Must(c.Create(v.Ctx, v.Migration))
	p := serve(t, v.From.Kubeconfig(), "-n", v.App.Namespace, "--to-kubeconfig", v.To.Kubeconfig())
	b := browse(t, p.address, desk)
	b.says("list", "moving")
	if got := ask[string](b, "location.href"); len(got) > len("http://127.0.0.1:65535/") {
		t.Errorf("the token stays in the address: %s", got)
	}
	b.press("j", enter)
	b.says("head", "moving")
	b.await(`document.querySelector(".steps [aria-current=step]")`)
	b.says("facts", "1 of 3")
	b.says("facts", "Time left")

	b.press("p")
	b.await(`document.getElementById("dialog").open`)
	b.press(enter)
	b.says("head", "paused")
	b.await(`document.getElementById("said").textContent.includes("paused")`)
	b.await(`document.getElementById("pause").disabled`)

	b.do(chromedp.Click("#resume"), chromedp.Click("#go"))
	b.says("head", "moving")

	b.press("b")
	b.await(`document.getElementById("go").disabled`)
	b.run(`document.getElementById("typed").value = ""`) // the key that is pressed here types, though the page prevents it
	b.press("w", "e")
	if !ask[bool](b, `document.getElementById("go").disabled`) {
		t.Error("a rollback is confirmed by another name")
	}
	b.press("b")
	b.await(`document.getElementById("typed").value === "web"`)
	b.press(enter)
	b.await(`!document.getElementById("dialog").open`)
	b.says("head", "rolling back")
	v.Must(c.Patch(v.Ctx, v.Migration, client.RawPatch(types.MergePatchType, fast)))
	b.says("head", "rolled back")
	b.says("handoffs", "back")
	b.visit("#/migration/" + v.App.Namespace + "/" + v.Migration.Name + "/report")
	b.await(`document.querySelector("#document .wide div")?.shadowRoot.querySelector("svg")`)
	v.ExpectBack()
	v.Audit()
}

// TestSteerARun: the page shows and steers the record of a run like a Migration, and plans the remaining
// ordinals.
func TestSteerARun(t *testing.T) {
	built(t, "migrate")
	v := harness.NewMove(t, harness.Usual(2), harness.AcrossClusters, harness.WithSpec(slow))
	west, err := v.Destination.CoreV1().Namespaces().Get(v.Ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	v.Must(err)
	v.Migration.Annotations = map[string]string{records.DestinationAnnotationKey: string(west.UID), records.DestinationNameAnnotationKey: "west"}
	mover := v.Mover()
	p := serve(t, v.From.Kubeconfig(), "-n", v.App.Namespace, "--to-kubeconfig", v.To.Kubeconfig())
	b := browse(t, p.address, desk)
	b.says("list", "run")
	b.visit("#/run/" + v.App.Namespace + "/" + v.Migration.Name + "/plan")
	b.says("document", "Checks before the first write")
	b.says("document", "writes")
	over := make(chan error, 1)
	go func() { over <- harness.Follow(v.Ctx, t, mover) }()
	b.press("\x1b")
	b.says("list", "moving")
	b.press("j", enter)
	b.says("facts", "1 of 2")
	b.press("p")
	b.await(`document.getElementById("dialog").open`)
	b.press(enter)
	b.says("head", "paused")
	b.visit("#/run/" + v.App.Namespace + "/" + v.Migration.Name + "/plan")
	b.says("document", "writes")
	b.visit("#/run/" + v.App.Namespace + "/" + v.Migration.Name)
	b.says("head", "paused")
	b.await(`document.getElementById("resume")?.disabled === false`)
	b.press("r")
	b.await(`document.getElementById("dialog").open`)
	b.press(enter)
	b.says("head", "moved")
	select {
	case err := <-over:
		v.Must(err)
	case <-time.After(patience):
		t.Fatal("the run does not end")
	}
	v.ExpectMovedCleanly()
}
