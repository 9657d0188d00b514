"""How products are computed: fewer of them where that is faster, within an error budget."""
