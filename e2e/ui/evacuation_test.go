package ui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/staged"
)

// hostile is a text of a cluster that would run as a script, and change the terminal, if a page did not escape it.
const hostile = `<img src=x onerror="hacked=1"><script>hacked=1</script> "quoted" & 'more' ` + "\u202e" + `reversed`

// evacuate creates Evacuation all of a number of Migrations: one has moved, one is under way, one stalls with a hostile
// message, the name of one is as long as names may be, and the others wait.
func (s *shop) evacuate(migrations int) *api.Evacuation {
	s.Helper()
	now := time.Now()
	pictured := staged.Pictured(s.T, now)
	web, orders, done := pictured[0], pictured[1], pictured[3]
	all := []*api.Migration{done, web, orders}
	for i := range migrations - len(all) {
		m := &api.Migration{Spec: *web.Spec.DeepCopy()}
		m.Name, m.Spec.Mode = fmt.Sprintf("queue-%03d", i), api.ModePause
		if i == 0 {
			m.Name = strings.Repeat("long-", 12) + "abc"
		}
		m.Spec.Source.Name, m.Annotations = m.Name, map[string]string{api.EvacuationHeldAnnotationKey: "all"}
		all = append(all, m)
	}
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "all"}}
	states := map[*api.Migration]api.EvacuatedState{done: api.EvacuatedMoved, web: api.EvacuatedMoving, orders: api.EvacuatedStalled}
	e.Spec.Migrations = []api.EvacuatedMigration{}
	for i, m := range all {
		m.Labels = map[string]string{api.EvacuationLabelKey: "all"}
		begin := int64(max(0, i-2) * 100)
		e.Spec.Migrations = append(e.Spec.Migrations, api.EvacuatedMigration{Name: m.Name, Planned: &api.PlannedMove{BeginSeconds: begin, EndSeconds: begin + 280, Ordinals: 7}})
		next := api.EvacuatedStatus{Name: m.Name, State: api.EvacuatedWaiting}
		if state, set := states[m]; set {
			next.State = state
		}
		if m == orders {
			next.Message = "VolumeAttached: " + hostile
		}
		e.Status.Migrations = append(e.Status.Migrations, next)
	}
	status := e.Status.Migrations
	s.keep(all...)
	if err := s.client.Create(s.Context(), e); err != nil {
		s.Fatal(err)
	}
	began := web.Status.Baseline.StartTime
	for _, m := range all[:3] {
		if m.Status.Baseline.StartTime.Before(&began) {
			began = m.Status.Baseline.StartTime
		}
	}
	e.Status = api.EvacuationStatus{ObservedGeneration: e.Generation, State: api.EvacuationRunning, Progress: fmt.Sprintf("1/%d", migrations), StartTime: &began, Migrations: status}
	if err := s.client.Status().Update(s.Context(), e); err != nil {
		s.Fatal(err)
	}
	return e
}

// The screens on which an Evacuation is shown.
var screens = map[string]screen{
	"desk": {width: 1280, height: 900, scale: 1}, "desk, dark": {width: 1280, height: 900, scale: 1, dark: true},
	"phone": {width: 390, height: 844, scale: 1}, "phone, dark": {width: 390, height: 844, scale: 1, dark: true},
}

// cutTexts is a script that returns the texts that do not fit into their element, or into the picture.
const cutTexts = `(() => {
	const cut = [];
	for (const e of document.querySelectorAll('main :is(h1, h2, p, dt, dd, td, th, a, button)')) {
		const box = e.closest('.wide');
		const right = e.getBoundingClientRect().right - (box ? box.getBoundingClientRect().left - box.scrollLeft : 0);
		if (e.checkVisibility() && !e.closest('.unseen, thead') && right > (box ? box.scrollWidth : innerWidth) + 1) cut.push(e.innerText);
	}
	for (const svg of [...document.querySelectorAll('svg.chart'), ...[...document.querySelectorAll('.wide div')].flatMap((e) => [...(e.shadowRoot?.querySelectorAll('svg') ?? [])])]) {
		const { left, right } = svg.getBoundingClientRect();
		for (const e of svg.querySelectorAll('text')) {
			const box = e.getBoundingClientRect();
			if (box.left < left - 1 || box.right > right + 1) cut.push(e.textContent);
		}
	}
	return cut;
})()`

// expectNeat checks the page: on each screen nothing is wider than it or cut, and nothing hostile ran.
func (b *tab) expectNeat(what string) {
	b.Helper()
	for name, on := range screens {
		b.on(on)
		for _, cut := range ask[[]string](b, cutTexts) {
			b.Errorf("%s, %s: cut: %s", what, name, cut)
		}
		if wide := ask[int64](b, "document.documentElement.scrollWidth"); wide > on.width {
			b.Errorf("%s, %s: it is %d wide", what, name, wide)
		}
		if ask[bool](b, `Boolean(globalThis.hacked) || document.querySelector("main img, main script") !== null`) {
			b.Errorf("%s, %s: a text of the cluster is an element of the page", what, name)
		}
		if text := b.text("main") + ask[string](b, `document.body.innerText`); strings.Contains(text, "\u202e") || !strings.Contains(text, "<script>hacked=1</script>") {
			b.Errorf("%s, %s: the hostile message is shown as %q", what, name, text)
		}
		if *pictures != "" {
			shot := see(b, chromedp.CaptureScreenshot())
			if err := os.WriteFile(filepath.Join(*pictures, strings.NewReplacer(", ", "-", " ", "-").Replace(what+"-"+name)+".png"), shot, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestEvacuation: the page of an Evacuation shows each StatefulSet, planned beside real, on a desktop and on a phone. It
// follows changes, keeps the focus, leads to each Migration and back, and stays when the Evacuation is deleted.
func TestEvacuation(t *testing.T) {
	for name, n := range map[string]int{"few": 5, "hundreds": 200} {
		t.Run(name, func(t *testing.T) {
			shop := newShop(t)
			e := shop.evacuate(n)
			b := browse(t, serve(t, harness.East().Kubeconfig(), "-n", shop.namespace).address, desk)
			b.run(`globalThis.refused = []; addEventListener("securitypolicyviolation", (e) => refused.push(e.violatedDirective + " " + e.blockedURI))`)
			b.says("evacuations", fmt.Sprintf("Evacuation %s/all: 1 of %d Migrations moved", shop.namespace, n))
			b.run(`document.querySelector("#evacuations a").click()`)
			b.says("lead", fmt.Sprintf("Running: 1/%d StatefulSets", n))
			b.await(`document.querySelector("#summary .wide div")?.shadowRoot.querySelectorAll(".planned").length > ` + strconv.Itoa(n))
			b.expectNeat("page, " + name)
			for _, wrong := range ask[[]string](b, accessible) {
				t.Errorf("%s", wrong)
			}
			b.run(`document.querySelector("#summary .wide").focus()`)
			e.Status.Progress = fmt.Sprintf("2/%d", n)
			if err := shop.client.Status().Update(shop.Context(), e); err != nil {
				t.Fatal(err)
			}
			b.says("lead", fmt.Sprintf("2/%d StatefulSets", n))
			b.await(`document.activeElement === document.querySelector("#summary .wide")`)
			b.says("said", "2/")
			b.run(`[...document.querySelectorAll("td a")].find((a) => a.innerText === "web").click()`)
			b.says("head", "Evacuation all")
			b.run(`document.querySelector("#head p a").click()`)
			b.says("lead", "2/")
			if err := shop.client.Delete(shop.Context(), e); err != nil {
				t.Fatal(err)
			}
			b.says("fault", "no Evacuation "+shop.namespace+"/all")
			b.says("lead", "2/")
			if refused := ask[[]string](b, "refused"); len(refused) > 0 {
				t.Errorf("the policy has refused %v", refused)
			}
		})
	}
}

// TestEvacuationReport: the report of an Evacuation as a file is neat on all screens, too.
func TestEvacuationReport(t *testing.T) {
	for name, n := range map[string]int{"few": 5, "hundreds": 200} {
		t.Run(name, func(t *testing.T) {
			shop := newShop(t)
			shop.evacuate(n)
			out, err := exec.CommandContext(t.Context(), harness.Program(t, "migrate"), "report", "evacuation/all", "-n", shop.namespace, "--kubeconfig", harness.East().Kubeconfig(), "-o", "html").Output()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "report.html")
			if err := os.WriteFile(path, out, 0o600); err != nil {
				t.Fatal(err)
			}
			b := browse(t, "file://"+path, desk)
			b.expectNeat("report, " + name)
			if lanes := ask[int](b, `document.querySelectorAll("svg text[dominant-baseline]").length`); lanes != n {
				t.Errorf("%d of %d StatefulSets have a label", lanes, n)
			}
		})
	}
}
