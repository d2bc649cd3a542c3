package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/migration/report/page"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Seal is what the volume of an ordinal has shown before the ordinal came up on it: that it has what the one has that was
// left behind.
type Seal struct {
	Ordinal   int32         `json:"ordinal"`
	Direction api.Direction `json:"direction"`
	// Time is when the ordinal was available on it.
	Time time.Time `json:"time"`
	Sealed
}

// Sealed is what a seal says.
type Sealed struct {
	ClaimTemplate string `json:"claimTemplate"`
	// Root is the digest of all that is on the volume, or that of the snapshot that it was made of.
	Root string `json:"root"`
	// Verify is how both sides were compared. Changed: Trusted bytes of both together were not read for the seal. It is
	// absent of a snapshot.
	Verify  api.CopyVerify `json:"verify,omitempty"`
	Bytes   int64          `json:"bytes,omitempty"`
	Files   int64          `json:"files,omitempty"`
	Trusted int64          `json:"trusted,omitempty"`
}

func (r Report) seals() page.Section {
	s := page.Section{Title: "Seals of volumes", Head: []string{"Ordinal", "Claim template", "Way", "Available", "Bytes", "Files", "Shown by", "Digest"}}
	if r.DroppedSeals > 0 {
		s.Text = fmt.Sprintf("The first %d are not listed: the status keeps the last ones only, and a log of all runs was not given.", r.DroppedSeals)
	}
	for _, seal := range r.Seals {
		bytes, files := strconv.FormatInt(seal.Bytes, 10), strconv.FormatInt(seal.Files, 10)
		if seal.restored() {
			bytes, files = "not read", "not read"
		}
		s.Rows = append(s.Rows, []string{number(seal.Ordinal), seal.ClaimTemplate, way(seal.Direction), moment(seal.Time), bytes, files, seal.shownBy(), seal.Root})
	}
	return s
}

func (s Sealed) restored() bool { return strings.HasPrefix(s.Root, api.SnapshotRoot) }

// shownBy says in words what stands behind a seal.
func (s Sealed) shownBy() string {
	switch {
	case s.restored():
		return "restored by its CSI driver from a snapshot of the volume that was left behind"
	case s.Verify == api.CopyVerifyChanged:
		return fmt.Sprintf("both sides were read, but for %d bytes that had not changed since a warm pass", s.Trusted)
	default:
		return "all of both sides was read"
	}
}

// loggedSeals are the oldest seals, which the status does not list any more, as a log tells them. One of a handoff that was
// turned round after it is of no volume that the ordinal came up on.
func (r *Report) loggedSeals() (oldest []Seal) {
	type loose struct {
		direction api.Direction
		Sealed
	}
	since := map[int32]map[string]loose{}
	for _, e := range r.Entries {
		switch {
		case e.Ordinal == nil, len(r.Seals) > 0 && !e.Time.Before(r.Seals[0].Time): // the status has the others
		case e.Seal != nil:
			if since[*e.Ordinal] == nil {
				since[*e.Ordinal] = map[string]loose{}
			}
			since[*e.Ordinal][e.Seal.ClaimTemplate] = loose{r.direction(e.Time), *e.Seal}
		case e.Kind == kindDone:
			for _, template := range slices.Sorted(maps.Keys(since[*e.Ordinal])) {
				if seal := since[*e.Ordinal][template]; seal.direction == r.direction(e.Time) {
					oldest = append(oldest, Seal{*e.Ordinal, seal.direction, e.Time, seal.Sealed})
				}
			}
			delete(since, *e.Ordinal)
		}
	}
	return oldest[:min(len(oldest), max(0, int(r.DroppedSeals)))]
}
