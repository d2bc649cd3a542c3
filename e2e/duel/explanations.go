package duel

import "strings"

// explanations are all differences on purpose that a script may come upon. Each is as narrow
// as it can be: what it does not say fails the script.
var explanations = []explanation{
	{
		id:       "broken pods go first",
		explains: func(m *moment, d difference) bool { return m.aboutEvents(d, m.wasBroken) },
	},
	{
		id: "percentages round up",
		explains: func(m *moment, d difference) bool {
			return d.about == orderOf && m.wish.mostUnavailable(true) != m.wish.mostUnavailable(false)
		},
	},
	{
		id: "ended pods wait for no other",
		explains: func(m *moment, d difference) bool {
			ordinal, pod, is := m.aboutOrdinal(d)
			return is && pod && m.native.pods[ordinal].ended && !m.ours.pods[ordinal].ended && m.nativeWaitsBelow(ordinal)
		},
	},
	{
		id: "repairs wait for no other pod",
		explains: func(m *moment, d difference) bool {
			ordinal, pod, is := m.aboutOrdinal(d)
			repaired := !pod || strings.Contains(d.native, `name "" index`) && !strings.Contains(d.ours, `name "" index`)
			return is && repaired && d.native != "none" && d.ours != "none" && m.nativeWaitsBelow(ordinal)
		},
	},
}
