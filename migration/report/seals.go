package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/report/page"
)

// Seal is the evidence that the volume on which an ordinal started has the same contents as the volume that it
// left behind.
type Seal struct {
	Ordinal   int32         `json:"ordinal"`
	Direction api.Direction `json:"direction"`
	// Time is when the ordinal was available on it.
	Time time.Time `json:"time"`
	Sealed
}

// Sealed is the contents of a seal.
type Sealed struct {
	ClaimTemplate string `json:"claimTemplate"`
	// Root is the digest of everything on the volume, or the name of the snapshot from which it was restored.
	Root string `json:"root"`
	// Verify is how the sides were compared. With Changed, Trusted bytes on both sides together were not read
	// for the seal. It is empty for a snapshot.
	Verify  api.CopyVerify `json:"verify,omitempty"`
	Bytes   int64          `json:"bytes,omitempty"`
	Files   int64          `json:"files,omitempty"`
	Trusted int64          `json:"trusted,omitempty"`
	// Proven is when the volume that was left behind had been read whole and was found equal, with Later; Accepted is
	// when the user accepted that it is not.
	Proven   *time.Time `json:"proven,omitempty"`
	Accepted *time.Time `json:"accepted,omitempty"`
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

// shownBy returns the basis of a seal in words.
func (s Sealed) shownBy() string {
	switch {
	case s.restored():
		return "restored by its CSI driver from a snapshot of the volume that was left behind"
	case s.Verify == api.CopyVerifyChanged:
		return fmt.Sprintf("both sides were read, except %d bytes that had not changed since a warm pass", s.Trusted)
	case s.Verify == api.CopyVerifyLater:
		return fmt.Sprintf("the copy was read back when it was written, %d bytes of it before the stop; %s", s.Trusted, s.afterStart())
	default:
		return "both sides were read completely"
	}
}

// afterStart returns the result of reading the volume that was left behind after the start.
func (s Sealed) afterStart() string {
	switch {
	case s.Accepted != nil:
		return "it differs from the volume that was left behind, or that could not be read, which was accepted at " + moment(*s.Accepted)
	case s.Proven != nil:
		return "the volume that was left behind was read completely after the start, until " + moment(*s.Proven) + ", and is equal"
	default:
		return "the volume that was left behind was not read completely yet"
	}
}

// loggedSeals returns the oldest seals, which the status does not list any more, from the log. A seal whose
// handoff was reversed after it is not of a volume on which the ordinal started.
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
