package auditor
import ("testing";"fmt";"os";"strings")

func (s *stage) sabotage(k, total int32, how string) {
	if how != "noshrink" && how != "lateshrink" { s.allow(source, 0, 0); s.allow(destination, 0, 0) }
	pv := s.volumeOf(source, k)
	if how != "noretain" { s.changeVolume(source, pv.Name, retain) }
	s.scale(source, 0, k)
	if how == "lateshrink" { s.allow(source, 0, 0) }
	if how == "twin" { s.scale(destination, k, total-k) }
	if how != "nowait" { s.untilGone(source, k) }
	if how == "latepark" {
		s.claimVolume(k, s.recreateVolume(pv, k, ""))
		s.changeVolume(source, pv.Name, park)
	} else if how != "twin" {
		s.changeVolume(source, pv.Name, park)
		s.claimVolume(k, s.recreateVolume(pv, k, ""))
	}
	if how != "twin" { s.scale(destination, k, total-k) }
	if how == "earlygrow" { s.allow(source, 1, 1) }
	s.untilReady(destination)
	if k > 0 { s.allow(source, 1, 1) } else { s.allow(destination, 1, 1) }
}
func TestZZ(t *testing.T) {
	clusters := startClusters(t)
	east, west := clusters[0], clusters[1]
	hit := map[string]string{}
	for _, how := range []string{"noshrink","lateshrink","nowait","latepark","twin","earlygrow"} {
	for i := range 8 {
		t.Run(fmt.Sprintf("%s%d", how, i), func(t *testing.T) {
			s := newStage(t, east, west)
			const total = 3
			s.deploy(source, makeSet(0, total, claimTemplate))
			s.deploy(destination, makeSet(total, 0, claimTemplate))
			s.protect(source, 1)
			s.protect(destination, 0)
			a := s.audit(1)
			s.sabotage(2, 3, how)
			r := a.Finish(t.Context())
			if r.OK() { hit[how] += "." } else {
				inv := []string{}
				for _, v := range r.Violations { inv = append(inv, string(v.Invariant)) }
				if len(inv)==0 {inv=append(inv,"?")}
				hit[how] += " "+strings.Join(inv, "+") }
		})
	}}
	for k, v := range hit { fmt.Fprintln(os.Stderr, k, v) }
}
