package inplace

import (
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// RecordOf returns the record of a migration. The ordinal is that of its handoff; nil without one.
func RecordOf(status *api.StorageStatus, ordinal *int32) Record {
	if status == nil {
		return Record{}
	}
	r := Record{Reached: status.Reached, Back: status.Back, BackIn: status.BackIn}
	r.Written = templates(status.Written)
	if status.Former != nil {
		r.Former = recorded(*status.Former)
	}
	if status.Replace != nil {
		r.Replace = &Replace{UID: status.Replace.UID, Next: recorded(status.Replace.Next)}
	}
	if h := status.Handoff; h != nil && ordinal != nil {
		r.Handoff = &Handoff{Ordinal: *ordinal, Return: h.Return, Sealed: h.Sealed, Turned: h.Turned, Why: h.Why}
		for _, claim := range h.Claims {
			r.Handoff.Slots = append(r.Handoff.Slots, Handed{Template: claim.ClaimTemplate, Claim: claim.UID, Old: claim.Old, New: claim.New, Seal: claim.Seal})
		}
	}
	return r
}

// Status returns the record as it is stored. The ordinal of the handoff is stored elsewhere.
func (r Record) Status() *api.StorageStatus {
	status := &api.StorageStatus{Reached: r.Reached, Back: r.Back, BackIn: r.BackIn}
	status.Written = storedTemplates(r.Written)
	if r.Former.Text != "" {
		status.Former = new(r.Former.stored())
	}
	if r.Replace != nil {
		status.Replace = &api.StorageReplacement{UID: r.Replace.UID, Next: r.Replace.Next.stored()}
	}
	if h := r.Handoff; h != nil {
		status.Handoff = &api.StorageHandoff{Return: h.Return, Sealed: h.Sealed, Turned: h.Turned, Why: h.Why}
		for _, s := range h.Slots {
			status.Handoff.Claims = append(status.Handoff.Claims, api.StorageClaim{ClaimTemplate: s.Template, UID: s.Claim, Old: s.Old, New: s.New, Seal: s.Seal})
		}
	}
	return status
}

func (m Manifest) stored() api.StorageManifest {
	return api.StorageManifest{Set: m.Text, Templates: storedTemplates(m.Templates)}
}

func recorded(stored api.StorageManifest) Manifest {
	return Manifest{Text: stored.Set, Templates: templates(stored.Templates)}
}

func storedTemplates(all []Template) []api.StorageTemplate {
	var stored []api.StorageTemplate
	for _, t := range all {
		stored = append(stored, api.StorageTemplate{Name: t.Name, Class: t.Class, Bytes: t.Size, Block: t.Block, Attributes: t.Attributes, AccessModes: t.Modes})
	}
	return stored
}

func templates(stored []api.StorageTemplate) []Template {
	var all []Template
	for _, t := range stored {
		all = append(all, Template{Name: t.Name, Class: t.Class, Size: t.Bytes, Block: t.Block, Attributes: t.Attributes, Modes: t.AccessModes})
	}
	return all
}
