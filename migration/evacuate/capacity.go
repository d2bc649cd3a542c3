package evacuate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Room is one resource of the destination: the peak need of the evacuation, and the free amount.
type Room struct {
	// What names the resource, such as "cpu", "storage of class fast" or "quota shop/small: pods".
	What        string
	Needs, Free resource.Quantity
	// Known is false if the free amount is unknown or unlimited.
	Known bool
}

// Fits reports whether the free amount covers the need.
func (r Room) Fits() bool { return !r.Known || r.Needs.Cmp(r.Free) <= 0 }

// Unplaced is an ordinal for which no node has room when it arrives.
type Unplaced struct {
	Set     Name
	Ordinal int32
	At      time.Duration
	// Why names what the nodes that could take it lack.
	Why string
}

// roomsOf returns the resources that the moves need. Ordinals that have arrived stay, so the peak is at the end.
func roomsOf(rows []Row, at Destination) []Room {
	return slices.Concat(nodeRooms(rows, at.Nodes), classRooms(rows, at.Classes), quotaRooms(rows, at.Quotas))
}

// nodeRooms compares the sums over all nodes. A pod may fit on no node although the sum is free: see place.
func nodeRooms(rows []Row, nodes []Node) []Room {
	var needs, free Amounts
	volumes, attach := map[string]int64{}, map[string]int64{}
	var claims int64
	for _, row := range rows {
		n := int64(len(row.Set.Ordinals))
		needs.add(row.Set.Pod.Amounts, n)
		for driver, each := range row.Set.Pod.Volumes {
			volumes[driver] += n * each
		}
		for _, t := range row.Set.Templates {
			claims += int64(t.Claims)
		}
	}
	for _, node := range nodes {
		free.add(node.Free, 1)
	}
	known := len(nodes) > 0
	rooms := []Room{
		{"cpu", *resource.NewMilliQuantity(needs.MilliCPU, resource.DecimalSI), *resource.NewMilliQuantity(free.MilliCPU, resource.DecimalSI), known},
		{"memory", *resource.NewQuantity(needs.Memory, resource.BinarySI), *resource.NewQuantity(free.Memory, resource.BinarySI), known},
		{"pods", *resource.NewQuantity(needs.Pods, resource.DecimalSI), *resource.NewQuantity(free.Pods, resource.DecimalSI), known},
		{What: "claims", Needs: *resource.NewQuantity(claims, resource.DecimalSI)},
	}
	for _, driver := range slices.Sorted(maps.Keys(volumes)) {
		limited := known
		for _, node := range nodes {
			left, has := node.Attach[driver]
			attach[driver] += left
			limited = limited && has
		}
		rooms = append(rooms, Room{"attached volumes of driver " + driver, *resource.NewQuantity(volumes[driver], resource.DecimalSI), *resource.NewQuantity(attach[driver], resource.DecimalSI), limited})
	}
	return rooms
}

// add adds a multiple of other amounts.
func (a *Amounts) add(other Amounts, times int64) {
	a.MilliCPU += times * other.MilliCPU
	a.Memory += times * other.Memory
	a.Pods += times * other.Pods
}

// classRooms compares the new volumes of each storage class with the capacity that its driver reports.
func classRooms(rows []Row, classes []Class) []Room {
	needs, largest := map[string]int64{}, map[string]int64{}
	for _, row := range rows {
		for _, t := range row.Set.Templates {
			if t.Fills() {
				needs[t.Class] += t.Bytes
				largest[t.Class] = max(largest[t.Class], t.Largest)
			}
		}
	}
	var rooms []Room
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		what := "storage of class " + cmp.Or(name, "<default>")
		at := slices.IndexFunc(classes, func(c Class) bool { return c.Name == name })
		if at < 0 {
			rooms = append(rooms, Room{What: what, Needs: *resource.NewQuantity(needs[name], resource.BinarySI)})
			continue
		}
		rooms = append(rooms, Room{what, *resource.NewQuantity(needs[name], resource.BinarySI), *resource.NewQuantity(classes[at].Free, resource.BinarySI), true})
		if most := classes[at].Largest; most > 0 {
			rooms = append(rooms, Room{"largest volume of class " + name, *resource.NewQuantity(largest[name], resource.BinarySI), *resource.NewQuantity(most, resource.BinarySI), true})
		}
	}
	return rooms
}

// quotaRooms compares the use of all sets of a namespace with its quotas.
func quotaRooms(rows []Row, quotas []Quota) []Room {
	needs := map[string]corev1.ResourceList{}
	for _, row := range rows {
		sum := needs[row.Set.Namespace]
		if sum == nil {
			sum = corev1.ResourceList{}
			needs[row.Set.Namespace] = sum
		}
		for name, amount := range row.Set.Quota {
			total := sum[name]
			total.Add(amount)
			sum[name] = total
		}
	}
	var rooms []Room
	for _, quota := range quotas {
		for _, name := range slices.Sorted(maps.Keys(quota.Hard)) {
			amount, needed := needs[quota.Namespace][name]
			if !needed {
				continue
			}
			free := quota.Hard[name].DeepCopy()
			free.Sub(quota.Used[name])
			rooms = append(rooms, Room{fmt.Sprintf("quota %s: %s", quota.Name, name), amount, free, true})
		}
	}
	return rooms
}

// arrival is an ordinal that starts at the destination.
type arrival struct {
	set     *Set
	ordinal int32
	at      time.Duration
}

// place puts each ordinal, in the order in which they arrive, on the first node with room, and returns those that fit on
// none.
func place(rows []Row, nodes []Node) []Unplaced {
	if len(nodes) == 0 {
		return nil
	}
	var arrivals []arrival
	for _, row := range rows {
		for _, h := range row.Handoffs {
			arrivals = append(arrivals, arrival{row.Set, h.Ordinal, h.Down})
		}
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	left := make([]Node, len(nodes))
	for i, node := range nodes {
		left[i] = node
		left[i].Attach = maps.Clone(node.Attach)
	}
	var unplaced []Unplaced
	for _, a := range arrivals {
		at := slices.IndexFunc(left, func(node Node) bool { return a.set.Pod.reaches(node) && len(node.lacks(a.set.Pod)) == 0 })
		if at < 0 {
			unplaced = append(unplaced, Unplaced{a.set.Name, a.ordinal, a.at, whyNot(a.set.Pod, left)})
			continue
		}
		left[at].take(a.set.Pod)
	}
	return unplaced
}

// reaches reports whether a node is one of those that could take the pod.
func (p Pod) reaches(node Node) bool { return p.Nodes == nil || slices.Contains(p.Nodes, node.Name) }

// lacks returns what a node has too little of for a pod.
func (n Node) lacks(p Pod) (what []string) {
	for _, each := range []struct {
		what        string
		needs, free int64
	}{{"cpu", p.MilliCPU, n.Free.MilliCPU}, {"memory", p.Memory, n.Free.Memory}, {"pods", p.Pods, n.Free.Pods}} {
		if each.needs > each.free {
			what = append(what, each.what)
		}
	}
	for _, driver := range slices.Sorted(maps.Keys(p.Volumes)) {
		if left, limited := n.Attach[driver]; limited && p.Volumes[driver] > left {
			what = append(what, "attached volumes of driver "+driver)
		}
	}
	return what
}

// take puts a pod on the node.
func (n *Node) take(p Pod) {
	n.Free.add(p.Amounts, -1)
	for driver, volumes := range p.Volumes {
		if _, limited := n.Attach[driver]; limited {
			n.Attach[driver] -= volumes
		}
	}
}

// whyNot names what the nodes lack that could take a pod.
func whyNot(p Pod, nodes []Node) string {
	lacking, could := map[string]bool{}, 0
	for _, node := range nodes {
		if p.reaches(node) {
			could++
			for _, what := range node.lacks(p) {
				lacking[what] = true
			}
		}
	}
	if could == 0 {
		return "no node can take it"
	}
	return fmt.Sprintf("none of %d nodes has room: they lack %s", could, strings.Join(slices.Sorted(maps.Keys(lacking)), ", "))
}
