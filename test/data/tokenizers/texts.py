# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts to train tokenizers on, and texts that are hard to cut; both from seeds."""

import random
import unicodedata

SENTENCES = """the quick brown fox jumps over the lazy dog and it's not what they'd expected, is it?
a model reads words; it doesn't know them, but we've seen that it'll learn what follows them.
She said: "I'm here!" — he answered (slowly), you're late... 3 times in 2024, at 10:45, for $12.50.
def compute(values, scale=1.0):\n    return [x * scale for x in values if x != 0]
for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; } // https://example.org/path?q=1&r=2#top
Die Straße über den Fluß führt nach Köln; Äpfel, Öl und Übermut kosten 7,50 €.
Le garçon naïf a mangé des crêpes à Noël, où l'été s'achève déjà; c'est l'œuvre d'un maître.
El niño pequeño soñó con una cigüeña. ¿Dónde está la biblioteca? ¡Allí, mañana!
Ο γρήγορος σκύλος πηδάει πάνω από την αλεπού και τρέχει στους δρόμους της πόλης.
Съешь же ещё этих мягких французских булок, да выпей чаю; Ёжик пришёл в лес.
שלום עולם, הילד הלך לבית הספר בבוקר וחזר בערב.
مرحبا بالعالم، الولد يقرأ كتابا جديدا في المدرسة كل يوم.
नमस्ते दुनिया, बच्चा हर दिन विद्यालय जाता है और किताब पढ़ता है।
আমার সোনার বাংলা, আমি তোমায় ভালোবাসি।
வணக்கம் உலகம், குழந்தை பள்ளிக்கு செல்கிறது.
สวัสดีชาวโลก เด็กไปโรงเรียนทุกวันและอ่านหนังสือ
我是谁，你从哪里来？中国人民喜欢学习新的东西。今天天气很好。
私は学生です。カタカナとひらがなと漢字を読みます。東京タワーへ行きましょう。
안녕하세요 세계, 학생은 매일 학교에 가서 책을 읽습니다.
Tiếng Việt có nhiều dấu thanh: đường phố, người bạn, tương lai, học hỏi.
Zażółć gęślą jaźń; příliš žluťoučký kůň úpěl ďábelské ódy; İstanbul'da ılık bir gün.
გამარჯობა მსოფლიო, ბავშვი სკოლაში მიდის. Բարեւ աշխարհ, երեխան գնում է դպրոց։
ሰላም ለዓለም ልጁ ወደ ትምህርት ቤት ይሄዳል። សួស្តី ពិភពលោក ក្មេងទៅសាលា
I love 😀 and ❤️ and 👍🏽, families 👨‍👩‍👧‍👦, flags 🇩🇪🇯🇵, keycaps 1️⃣ and cats 🐈‍⬛!""".split("\n")

EMOJI = ["😀", "❤️", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪🇯🇵🇫", "1️⃣", "🐈‍⬛", "🏳️‍🌈", "🧑🏿‍🚀", "☺", "✈︎", "🫠", "👩‍❤️‍💋‍👨", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "‍", "️", "⃣"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\u00a0", "\u3000", "\u2003", "\u200b", "\u0085", "\u000b", "\u000c",
          "\u001c", "\u001f", "\u2028", "\u2029", "\u1680", "\ufeff", "\u180e", "\u202f", "\u205f", " \u3000 ", "\n \n  \n"]
SPECIAL = ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "<s>", "</s>", "<pad>", "<unk>", "<mask>", " <mask> ", "\u3000<mask>\u3000",
           "<|endoftext|>", "<|im_start|>", "<|startoftext|>", "<bos>", "<0x41>", "<0xE2>", "▁", "▁▁", "Ġ", "##ing", "@Word", "Word", "aWordb",
           "[cls]", "<S>", "ＷＯＲＤ", "<extra_id_0>", "</w>", "<mask><mask>", "< s>", "<|a|>", "<|a|>b", "<|a", "keep"]
SPELLED = ["'s", "'S", "'ſ", "'LL", "'re", "'Ve", "'m", "'D", "''", "don't", "DON'T", "it'ſ", "l'été", "x's's", "'", "' s", "n't", " do not"]
MARKS = [chr(c) for c in range(0x300, 0x36f)] + list("\u0e48\u0e49\u093c\u094d\u05b0\u05bc\u064b\u0651\u3099\u309a\u1dc4\u20d7\u0345\u0334\u1ab0\u1dfa\u08d4\u0c3c")
ODD = ["\0", "\x01", "\x1b[0m", "\x7f", "\x80", "\x9f", "\u00ad", "\u200d", "\u200e\u202e", "\u2066", "\ue000", "\U000f0000", "\ufffd", "\uffff",
       "\U0010ffff", "\ufdd0", "\u0378", "\u1c89", "\u2ebf0"[:1], "\U0002ebf0", "\ua7cb", "\U00010d50", "\U0001e5d0", "İ", "ı", "ſ", "ẞ", "ß", "Σ", "ς",
       "ﬁ", "ﬃ", "ﬀ", "ﷺ", "㍿", "℡", "①", "Ⅷ", "ⅷ", "½", "²", "µ", "Ω", "Å", "Å", "가", "각", "힣", "ㄱㅏ", "ᄀ" * 3, "ǅ", "ŉ", "ΐ",
       "が", "か\u3099", "ｶﾞ", "Ａｂｃ１２３", "！？", "𝕳𝖊𝖑𝖑𝖔", "ⓐ", "㋿", "ꟲ", "\U00010780", "🄌", "e\u0301", "e\u0323\u0301", "e\u0301\u0323", "q\u0307\u0323", "\u0f73\u0f81",
       "\U00011935\U00011930", "\u0344", "\u1e9b\u0323", "\u212b", "\u2126", "๏", "฿", "႟", "٣", "४", "௧", "፩", "Ⅻ", "〇", "一", "㈠", "\u166d", "\u2e52", "\U00011fff", "\u061d",
       "𞤀", "𐐀", "Ꭰ", "ꭰ", "Ა", "ა", "\u0560", "\u1c90", "\U00016e40", "\U00016ea0", "$", "^", "`", "~", "+", "|", "<=", "¿", "。", "、", "·", "…", "–", "«»", "‘’“”", "€", "©", "™"]


def corpus(seed=1, lines=600):
    """Sentences whose words are mixed."""
    rng = random.Random(seed)
    words = [sentence.split(" ") for sentence in SENTENCES]
    out = list(SENTENCES)
    for _ in range(lines):
        chosen = rng.choice(words)
        out.append(" ".join(rng.choices(chosen, k=rng.randint(2, 12))))
    return out


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.words = [word for sentence in SENTENCES for word in sentence.split()]
        self.blocks = [(0x20, 0x7e), (0xa0, 0x24f), (0x250, 0x36f), (0x370, 0x52f), (0x530, 0x6ff), (0x700, 0x8ff), (0x900, 0xdff),
                       (0xe00, 0x10ff), (0x1100, 0x13ff), (0x1400, 0x1cff), (0x1d00, 0x1fff), (0x2000, 0x2bff), (0x2c00, 0x2fff),
                       (0x3000, 0x33ff), (0x3400, 0x9fff), (0xa000, 0xabff), (0xac00, 0xd7ff), (0xf900, 0xffff), (0x10000, 0x1ffff),
                       (0x20000, 0x323af), (0xe0000, 0xe01ef)]

    def point(self):
        first, last = self.rng.choice(self.blocks)
        return chr(self.rng.randint(first, last))

    def letters(self, alphabet, count):
        return "".join(self.rng.choices(alphabet, k=count))

    def part(self):
        rng = self.rng
        kind = rng.randrange(14)
        if kind <= 3:
            return rng.choice(self.words)
        if kind == 4:
            return rng.choice(self.words).upper()
        if kind == 5:
            return rng.choice(EMOJI)
        if kind == 6:
            return rng.choice(SPECIAL)
        if kind == 7:
            return rng.choice(SPELLED)
        if kind == 8:
            return rng.choice(ODD)
        if kind == 9:
            return rng.choice(self.words) + self.letters(MARKS, rng.randint(1, 3))
        if kind == 10:
            return "".join(self.point() for _ in range(rng.randint(1, 6)))
        if kind == 11:
            return str(rng.randrange(10 ** rng.randint(1, 12)))
        if kind == 12:
            return self.letters("aeiouthsrnlABC" + rng.choice(["", "éüñ", "аеи", "我是的"]), rng.randint(1, 24))
        return unicodedata.normalize(rng.choice(["NFD", "NFKC", "NFC"]), rng.choice(self.words))

    def text(self):
        rng = self.rng
        between = rng.choice([[" "], [" "], ["", " "], SPACES, [""]])
        out = rng.choice(["", "", " ", rng.choice(SPACES)])
        for _ in range(rng.randint(1, 9)):
            out += self.part() + rng.choice(between)
        return out if rng.random() < 0.7 else out.strip()


def long_texts(maker):
    rng = maker.rng
    yield "a" * 10000
    yield "ab" * 5000
    yield maker.letters("abcdefghijklmnopqrstuvwxyz", 10000)
    yield maker.letters("thequickbrown", 10000)
    yield maker.letters("абвгдежзийклмн", 10000)
    yield maker.letters("我是谁你从哪里来", 10000)
    yield maker.letters("가나다라마바사", 10000)
    yield "e" + "\u0301" * 10000
    yield "\U0001f468\u200d" * 2500
    yield " " * 10000
    yield "\n" * 3000 + "x"
    yield "1" * 10000
    yield "!" * 10000
    yield "▁" * 1000 + " " * 1000
    yield "x" * 99 + " " + "y" * 100 + " " + "z" * 101 + " " + "é" * 100 + " " + "é" * 101
    yield " ".join(rng.choice(maker.words) for _ in range(2000))


def hard_texts(count=2000, seed=2024):
    maker = Maker(seed)
    fixed = ["", " ", "\n", "\t \r\n", "a", " a", "a ", "  a  b  "] + SPACES + SPECIAL + SPELLED + ODD + EMOJI + MARKS + SENTENCES
    fixed += ["a" + text + "b" for text in SPACES + ODD + EMOJI] + [text * 3 for text in SPECIAL + EMOJI]
    texts = fixed + list(long_texts(maker))
    while len(texts) < count:
        texts.append(maker.text())
    return texts[:count]
