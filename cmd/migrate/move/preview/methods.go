package preview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// Template describes how the data of a claim template moves, and which other methods are possible.
type Template struct {
	ClaimTemplate string           `json:"claimTemplate"`
	Method        api.VolumeMethod `json:"method"`
	Methods       []Choice         `json:"methods"`
	// Asked describes how its claims at the destination differ from those of the source.
	Asked *Asked `json:"asked,omitempty"`
}

// Asked holds the requested settings of a template's claims at the destination. An empty field means the setting of the
// source.
type Asked struct {
	StorageClass string                              `json:"storageClass,omitempty"`
	AccessModes  []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	Size         string                              `json:"size,omitempty"`
}

// askedOf returns the settings of a template in the spec of a migration, or nil if there are none.
func askedOf(m *api.Migration, template string) *Asked {
	at := slices.IndexFunc(m.Spec.Volumes, func(v api.VolumeSpec) bool { return v.ClaimTemplate == template })
	if at < 0 {
		return nil
	}
	v := m.Spec.Volumes[at]
	asked := Asked{StorageClass: ptr.Deref(v.StorageClassName, ""), AccessModes: v.AccessModes}
	if size := cmp.Or(v.Copy.Size, v.Snapshot.Size); size != nil {
		asked.Size = size.String()
	}
	if asked.StorageClass == "" && asked.Size == "" && len(asked.AccessModes) == 0 {
		return nil
	}
	return &asked
}

func (a Asked) text() string {
	var parts []string
	if a.StorageClass != "" {
		parts = append(parts, "class "+a.StorageClass)
	}
	for _, mode := range a.AccessModes {
		parts = append(parts, string(mode))
	}
	if a.Size != "" {
		parts = append(parts, a.Size)
	}
	return strings.Join(parts, ", ")
}

// Choice is a method, and why it cannot be used, if there is an obstacle.
type Choice struct {
	Method api.VolumeMethod `json:"method"`
	// Reason is empty if there is no obstacle.
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// MarshalJSON adds the commands of the remedy.
func (c Choice) MarshalJSON() ([]byte, error) {
	type bare Choice
	return shell.WithCommands(bare(c), c.Remedy)
}

// ofStorage lists the reasons for which one disk cannot serve both sides.
var ofStorage = []string{volumes.ReasonDriverMissing, volumes.ReasonVolumeOutOfReach, volumes.ReasonVolumeIsLocal, volumes.ReasonVolumeNotAllowed}

// methodsOf evaluates every method for the claims of the first ordinal that moves. Findings of the preflight about the
// storage count against the methods that reuse a disk.
func methodsOf(m *api.Migration, s plan.Snapshot, found []plan.Finding) []Template {
	moving := s.OrdinalsToMove()
	if len(moving) == 0 {
		return nil
	}
	var templates []Template
	for _, v := range s.Volumes {
		if v.Ordinal != moving[0] {
			continue
		}
		t := Template{ClaimTemplate: v.Template, Method: cmp.Or(v.Method, api.MethodRebind), Asked: askedOf(m, v.Template)}
		for _, name := range methods.Names() {
			t.Methods = append(t.Methods, choice(s, v, name, found))
		}
		templates = append(templates, t)
	}
	return templates
}

func choice(s plan.Snapshot, v plan.OrdinalVolume, name api.VolumeMethod, found []plan.Finding) Choice {
	method := methods.Of(name)
	separate := method.Facts().Separate
	pair := volumes.Pair{Shared: s.Spec.SameCluster && !separate, Owner: s.UID, Giver: v.Source, Taker: v.Destination, Template: v.Template, Word: v.Word, Copy: v.Copy}
	if separate != v.Separate() {
		pair.Taker.Volume = volumes.Volume{} // it was read for a method of the other kind
	}
	if problem, _ := method.Check(pair, volumes.BeforeMove); problem != nil {
		return Choice{name, problem.Reason, problem.Message, problem.Remedy}
	}
	if bars := v.Source.Volume.Barred; !separate && bars.Reason != "" {
		return Choice{name, bars.Reason, bars.Message, bars.Remedy}
	}
	at := slices.IndexFunc(found, func(f plan.Finding) bool { return !f.Warning && slices.Contains(ofStorage, f.Reason) })
	if at >= 0 && !separate {
		return Choice{name, found[at].Reason, found[at].Message, found[at].Remedy}
	}
	return Choice{Method: name}
}

// text returns a line for each method. It does not repeat an obstacle that the findings above already show.
func (t Template) text(above []plan.Finding) []string {
	lines := []string{fmt.Sprintf("Claim template %s moves by %s:", t.ClaimTemplate, t.Method)}
	for _, c := range t.Methods {
		if c.Reason == "" {
			lines = append(lines, fmt.Sprintf("  %-8s nothing was found against it", c.Method))
			continue
		}
		if c.Method == t.Method && slices.ContainsFunc(above, func(f plan.Finding) bool { return !f.Warning && f.Reason == c.Reason }) {
			lines = append(lines, fmt.Sprintf("  %-8s %s, see above", c.Method, c.Reason))
			continue
		}
		lines = append(lines, fmt.Sprintf("  %-8s %s: %s", c.Method, c.Reason, c.Why))
		if c.Remedy != "" {
			lines = append(lines, "           "+terminal.Remedy(c.Remedy))
		}
	}
	return lines
}

// refusedFor reports whether there is an obstacle for the chosen method. The other methods are then of interest.
func (t Template) refusedFor() bool {
	chosen := slices.IndexFunc(t.Methods, func(c Choice) bool { return c.Method == t.Method })
	return chosen < 0 || t.Methods[chosen].Reason != ""
}
