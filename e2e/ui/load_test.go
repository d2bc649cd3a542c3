package ui

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/staged"
)

// Limits of the page with 100 Migrations of 50 ordinals.
const (
	mostFirstPaint = time.Second
	mostMemory     = 64 << 20
	mostUpdate     = 500 * time.Millisecond
)

// TestHundred: 100 Migrations of 50 ordinals are shown within a second. The process needs less than 64 MiB in
// addition to the mapped pages of its own file. A change of one Migration is shown within half a second. The
// limits apply to the medians of several measurements; the log lists all of them.
func TestHundred(t *testing.T) {
	shop := newShop(t)
	arrivals := staged.Arrivals(t, "web", 50, time.Now())
	for i := range 100 {
		m := arrivals[i%len(arrivals)].DeepCopy()
		m.Name = fmt.Sprintf("web-%02d", i)
		shop.keep(m)
	}
	p := serve(t, harness.East().Kubeconfig(), "-n", shop.namespace)
	const all = `document.querySelectorAll("#list tbody tr").length === 100`
	const painted = `performance.getEntriesByName("painted").length > 0 && ` + all
	b := browse(t, p.address, desk)
	paint := func() time.Duration {
		b.await(painted)
		return time.Duration(ask[float64](b, `Math.max(...performance.getEntriesByName("painted").map((e) => e.startTime))`) * float64(time.Millisecond))
	}
	first := paint() // the browser and the command have just started: logged, not judged
	var paints, updates []time.Duration
	for range 5 {
		b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(p.address))
		paints = append(paints, paint())
	}
	b.run(`new MutationObserver(() => {
		const word = document.querySelector("#list").innerText.match(/change-\d+/)?.[0];
		if (word) (globalThis.seen ??= {})[word] ??= Date.now();
	}).observe(document.getElementById("list"), {subtree: true, childList: true, characterData: true})`)
	for i := range 9 {
		word := fmt.Sprintf("change-%d", i)
		begun := time.Now()
		shop.change("web-42", word)
		b.await(`globalThis.seen?.["` + word + `"]`)
		updates = append(updates, time.UnixMilli(int64(ask[float64](b, `globalThis.seen["`+word+`"]`))).Sub(begun))
	}
	took := memory(t, p, "RssAnon")
	t.Logf("the first of all paints %v, first paints %v, updates %v, memory %d KiB, and %d KiB of the program's file", first, paints, updates, took>>10, memory(t, p, "RssFile")>>10)
	if median(paints) > mostFirstPaint {
		t.Errorf("100 rows are shown after %v", paints)
	}
	if median(updates) > mostUpdate {
		t.Errorf("changes are shown after %v", updates)
	}
	if took > mostMemory {
		t.Errorf("the process takes %d KiB", took>>10)
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// memory returns a memory figure of a process, in bytes.
func memory(t *testing.T, p *process, field string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); words[0] == field+":" {
			kib, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("there is no %s", field)
	return 0
}
