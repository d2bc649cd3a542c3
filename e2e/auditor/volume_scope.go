package auditor

// claimOf returns the volume key when the volume's claimRef names a claim of the
// side's set.
func (s *side) claimOf(pv volumeState) (volumeKey, bool) {
	if pv.ClaimNamespace != s.Namespace {
		return volumeKey{}, false
	}
	return volumeKeyOf(pv.ClaimName, s.Set, s.templates)
}

// isOurs says whether a volume of the side's cluster belongs to the move: by its
// handle, wherever its claimRef points, or by its claimRef.
func (a *Auditor) isOurs(s *side, pv volumeState) bool {
	return a.ordinalOfVolume(s, pv) != WholeSet
}

// ordinalOfVolume is the ordinal whose claim or handle the volume has.
func (a *Auditor) ordinalOfVolume(s *side, pv volumeState) int32 {
	for _, other := range a.sides {
		if key, ok := other.claimOf(pv); ok && other.cluster == s.cluster {
			return key.Ordinal
		}
	}
	if key, known := a.state.keyOf(pv.Handle); known {
		return key.Ordinal
	}
	return WholeSet
}
