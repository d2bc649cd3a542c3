package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
)

// Measures of the picture, in pixels.
const (
	width, height     = 960, 400
	left, right       = 90, 20
	laneTop, laneStep = 62, 26
	laneHeight        = 16
	barsTop, barsLow  = 176, 340
)

var colours = map[string]string{"east": "#4c78a8", "west": "#f58518"}

// canvas draws over the time of a run.
type canvas struct {
	strings.Builder
	from, until time.Time
}

// drawing shows one run: where each member was Ready, and how many writes were acknowledged.
func drawing(r result) string {
	first, last := r.Phases[0], r.Phases[len(r.Phases)-1]
	c := &canvas{from: first.From, until: last.Until}
	c.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#333">`, width, height)
	c.put(`<rect width="%d" height="%d" fill="#fff"/>`, width, height)
	c.text(left, 20, "start", fmt.Sprintf("etcd moves from east to west under load: %d acknowledged writes, %d lost", r.Acknowledged, len(r.Lost)))
	c.marks(r.Phases)
	c.members(r.stays)
	c.bars(r)
	c.axis()
	c.put(`</svg>`)
	return c.String()
}

func (c *canvas) put(format string, args ...any) {
	fmt.Fprintf(c, format, args...)
	c.WriteByte('\n')
}

// text writes a line of text; anchor is its alignment at x: start, middle or end.
func (c *canvas) text(x float64, y int, anchor, line string) {
	c.put(`<text x="%.1f" y="%d" text-anchor="%s">%s</text>`, x, y, anchor, line)
}

// x returns the horizontal position of a time.
func (c *canvas) x(at time.Time) float64 {
	share := at.Sub(c.from).Seconds() / c.until.Sub(c.from).Seconds()
	return left + min(1, max(0, share))*(width-left-right)
}

// marks draws a line between each two phases.
func (c *canvas) marks(phases []stage.Phase) {
	for i, p := range phases {
		if i > 0 {
			c.put(`<line x1="%.1f" y1="48" x2="%.1f" y2="%d" stroke="#999" stroke-dasharray="3 3"/>`, c.x(p.From), c.x(p.From), barsLow)
		}
		c.text((c.x(p.From)+c.x(p.Until))/2, 44, "middle", p.Name)
	}
}

// members draws a lane for each member: a bar for each time in which it was Ready, in the colour of the cluster.
func (c *canvas) members(stays []stay) {
	for i, member := range app.Names() {
		y := laneTop + i*laneStep
		c.text(left-8, y+12, "end", member)
		for _, s := range stays {
			if s.member != member || !s.until.IsZero() && s.until.Before(c.from) {
				continue
			}
			until := s.until
			if until.IsZero() {
				until = c.until
			}
			c.put(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, c.x(s.from), y, c.x(until)-c.x(s.from), laneHeight, colours[s.cluster])
		}
	}
	y := laneTop + members*laneStep + 8
	for i, cluster := range []string{"east", "west"} {
		x := left + 110*i
		c.put(`<rect x="%d" y="%d" width="10" height="10" fill="%s"/>`, x, y, colours[cluster])
		c.text(float64(x+16), y+10, "start", "Ready in "+cluster)
	}
}

// bars draws the acknowledged writes of each step as a rate.
func (c *canvas) bars(r result) {
	most := max(1, slices.Max(r.Rate))
	for i, writes := range r.Rate {
		at := r.Begin.Add(time.Duration(i) * stage.Step)
		if at.Before(c.from) || at.Add(stage.Step).After(c.until) {
			continue
		}
		high := float64(writes) / float64(most) * (barsLow - barsTop)
		c.put(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#54a24b"/>`, c.x(at), barsLow-high, max(0.5, c.x(at.Add(stage.Step))-c.x(at)-0.5), high)
	}
	c.text(left-8, barsTop+10, "end", fmt.Sprintf("%.0f/s", float64(most)/stage.Step.Seconds()))
	c.text(left-8, (barsTop+barsLow)/2, "end", "writes")
	gap := r.Figure("whole")
	c.text(left, height-8, "start", fmt.Sprintf(
		"longest time without an acknowledged write: %.2f s for all clients together, %.2f s for one of them", gap.Gap, gap.ClientGap))
}

// axis draws the time axis with a mark every ten seconds.
func (c *canvas) axis() {
	c.put(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#333"/>`, left, barsLow, width-right, barsLow)
	for at := c.from; !at.After(c.until); at = at.Add(10 * time.Second) {
		c.put(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#333"/>`, c.x(at), barsLow, c.x(at), barsLow+4)
		c.text(c.x(at), barsLow+18, "middle", fmt.Sprintf("%.0f s", at.Sub(c.from).Seconds()))
	}
}

// stay is a span in which a member was Ready in a cluster.
type stay struct {
	member, cluster string
	from, until     time.Time // until is zero if it has not ended
}

// timeline records where each member is Ready, only for the picture.
type timeline struct {
	sync.Mutex
	stays []stay
}

// follow watches the pods of a cluster until ctx ends.
func (l *timeline) follow(ctx context.Context, c *kind.Cluster) {
	list := cache.NewListWatchFromClient(c.Client.CoreV1().RESTClient(), "pods", namespace, fields.Everything())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: list, ObjectType: &corev1.Pod{}, Handler: cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { l.note(c.Name, pod.(*corev1.Pod), false) },
		UpdateFunc: func(_, pod any) { l.note(c.Name, pod.(*corev1.Pod), false) },
		DeleteFunc: func(pod any) {
			if pod, ok := pod.(*corev1.Pod); ok {
				l.note(c.Name, pod, true)
			}
		},
	}})
	informer.RunWithContext(ctx)
}

// note starts a stay when a pod becomes Ready, and ends the stay of a pod that no longer is.
func (l *timeline) note(cluster string, pod *corev1.Pod, gone bool) {
	if !slices.Contains(app.Names(), pod.Name) {
		return
	}
	ready := !gone && pod.DeletionTimestamp == nil && fixture.IsReady(pod)
	l.Lock()
	defer l.Unlock()
	last := slices.IndexFunc(l.stays, func(s stay) bool { return s.member == pod.Name && s.cluster == cluster && s.until.IsZero() })
	switch {
	case ready && last < 0:
		l.stays = append(l.stays, stay{member: pod.Name, cluster: cluster, from: time.Now()})
	case !ready && last >= 0:
		l.stays[last].until = time.Now()
	}
}

// all returns the stays so far.
func (l *timeline) all() []stay {
	l.Lock()
	defer l.Unlock()
	return slices.Clone(l.stays)
}
